"""One search: its builds in order with what is known of each, and the commits between the
neighbours.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from dashboard.catalog.core import commits
from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.bisection import most_steps
from dashboard.models import Bisection, Job, TorchBuild
from dashboard.runs.selectors import runs
from dashboard.runs.selectors.runs import JobCounts


@dataclass(frozen=True, slots=True)
class BisectionBuild:
    """One build of the search. place: base, new, or empty. is_open: it may be measured yet;
    is_measured: it is now.
    """

    build: TorchBuild
    place: str
    step: dict[str, Any] | None
    is_open: bool
    is_measured: bool
    is_edge: bool


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """Jobs of all rounds so far, and how many more builds are measured at most."""

    counts: JobCounts
    seconds_left: float | None
    workers: int
    builds_left: int


def listing() -> QuerySet[Bisection]:
    """Searches, newest first."""
    related = ("base", "new", "low", "high", "machine", "benchmark", "config", "created_by")
    return Bisection.objects.select_related(*related)


def rows(of: Bisection) -> list[BisectionBuild]:
    """The ends, and every build between that was measured or may be, oldest first. Two queries."""
    steps = {step["build"]: step for step in of.steps}
    ends, edges = {of.base_id: "base", of.new_id: "new"}, {of.low_id, of.high_id}
    first, last, low, high = (
        version_order(one.version) for one in (of.base, of.new, of.low, of.high)
    )
    flavours = {of.base.label.partition("+")[2], of.new.label.partition("+")[2], ""}
    at_work = set(of.runs.filter(state__in=runs.ACTIVE_RUNS).values_list("build_id", flat=True))
    found = TorchBuild.objects.filter(base=None, channel__in={of.base.channel, of.new.channel})
    inside = [
        build
        for build in found
        if build.pk in ends
        or (
            first < version_order(build.version) < last
            and build.label.partition("+")[2] in flavours
        )
    ]
    return [
        BisectionBuild(
            build,
            ends.get(build.pk, ""),
            steps.get(build.label),
            is_open=low < version_order(build.version) < high
            and not (steps.get(build.label) or {}).get("given_up"),
            is_measured=build.pk in at_work,
            is_edge=build.pk in edges,
        )
        for build in sorted(inside, key=lambda build: version_order(build.version))
    ]


def commit_range(of: Bisection) -> str:
    """The address of the commits between the neighbours; empty where there is none."""
    return commits.between(of.low.git_sha, of.high.git_sha)


def progress(of: Bisection, now: datetime) -> SearchProgress:
    """How far the search is. Five queries."""
    jobs = list(Job.objects.filter(run__bisection=of).defer("spec", "log_tail"))
    newest = of.runs.order_by("-pk").first()
    workers = runs.workers_alive(of.machine_id, now)
    left = runs.seconds_left(jobs, runs.expected_seconds(newest) if newest else {}, workers, now)
    return SearchProgress(
        runs.count_jobs(jobs), left, workers, most_steps(sum(row.is_open for row in rows(of)))
    )
