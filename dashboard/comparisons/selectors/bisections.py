"""One search: its builds in order with what is known of each, and the commits between the
neighbours.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from dashboard.catalog.core import commits
from dashboard.catalog.core.versions import version_order
from dashboard.models import Bisection, Job, TorchBuild
from dashboard.runs.selectors import runs
from dashboard.runs.selectors.runs import JobCounts


@dataclass(frozen=True, slots=True)
class BisectionBuild:
    """One build of the search. place: base, new, or empty. is_open: it may be measured yet.
    is_measured: it is being measured now. is_edge: the search stands between it and another one.
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
    active_runs = of.runs.filter(state__in=runs.ACTIVE_RUNS)
    at_work = set(active_runs.values_list("build_id", flat=True))
    low, high = version_order(of.low.version), version_order(of.high.version)
    steps = {step["build"]: step for step in of.steps}
    builds = []
    for build in builds_of(of):
        step = steps.get(build.label)
        is_inside = low < version_order(build.version) < high
        builds.append(
            BisectionBuild(
                build,
                {of.base_id: "base", of.new_id: "new"}.get(build.pk, ""),
                step,
                is_open=is_inside and not (step and step.get("given_up")),
                is_measured=build.pk in at_work,
                is_edge=build.pk in {of.low_id, of.high_id},
            )
        )
    return builds


def builds_of(bisection: Bisection) -> list[TorchBuild]:
    """The ends, and the builds of their flavour between them, oldest first."""
    ends = (bisection.base, bisection.new)
    first, last = (version_order(build.version) for build in ends)
    flavours = {build.label.partition("+")[2] for build in ends} | {""}
    builds = []
    for build in TorchBuild.objects.filter(base=None, channel__in={end.channel for end in ends}):
        is_between = first < version_order(build.version) < last
        has_flavour = build.label.partition("+")[2] in flavours
        if build in ends or (is_between and has_flavour):
            builds.append(build)
    return sorted(builds, key=lambda build: version_order(build.version))


def commit_range(of: Bisection) -> str:
    """The address of the commits between the neighbours; empty where there is none."""
    return commits.between(of.low.git_sha, of.high.git_sha)


def progress(of: Bisection, now: datetime) -> SearchProgress:
    """How far the search is. Five queries."""
    jobs = list(Job.objects.filter(run__bisection=of).defer("spec", "log_tail"))
    newest = of.runs.order_by("-pk").first()
    workers = runs.workers_alive(of.machine_id, now)
    expected = runs.expected_seconds(newest) if newest else {}
    left = runs.seconds_left(jobs, expected, workers, now)
    # Each measurement halves what is open
    builds_left = sum(row.is_open for row in rows(of)).bit_length()
    return SearchProgress(runs.count_jobs(jobs), left, workers, builds_left)
