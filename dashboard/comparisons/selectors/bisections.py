"""One search: its builds in order with what is known of each, and the commits between the
neighbours.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from dashboard.catalog.core import commits
from dashboard.catalog.core.versions import version_order
from dashboard.judgement.search import Round
from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Bisection, Datum, InvalidPoint, Job, Status, TorchBuild
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


@dataclass(frozen=True, slots=True)
class MeasuredRounds:
    """Measurements of a search. rounds: by candidate. is_log: they are logarithms.

    processes: that brought a value, by build.
    """

    rounds: dict[int, list[Round]]
    is_log: bool
    processes: dict[int, int]


def measured_rounds(of: Bisection) -> MeasuredRounds:
    """The values of a search, round by round: of the runs of one session, the first jobs of all
    builds ran next to each other, and so on. Two queries.
    """
    jobs = Job.objects.filter(run__bisection=of).exclude(status="").order_by("position")
    rows = list(jobs.values_list("pk", "run__session", "run__build", "status"))
    values = _values(of, {job: status for job, _, _, status in rows})
    sessions: dict[str, dict[int, list[float]]] = {}
    processes: dict[int, int] = defaultdict(int)
    for job, session, build, _ in rows:
        by_build = sessions.setdefault(session, defaultdict(list))
        by_build[build].append(values.get(job, math.nan))
        processes[build] += job in values
    is_log = of.metric != STATUS_METRIC and min(values.values(), default=0) > 0

    rounds: dict[int, list[Round]] = {}
    for by_build in sessions.values():
        [candidate] = by_build.keys() - {of.base_id, of.new_id} or [0]
        sides = (by_build[of.base_id], by_build[candidate], by_build[of.new_id])
        for measured in zip_longest(*sides, fillvalue=math.nan):
            values_in_turn = [math.log(value) if is_log else value for value in measured]
            this_round = Round(*values_in_turn)
            if math.isfinite(this_round.new - this_round.base):
                rounds.setdefault(candidate, []).append(this_round)
    return MeasuredRounds(rounds, is_log, dict(processes))


def _values(of: Bisection, statuses: dict[UUID, str]) -> dict[UUID, float]:
    """Value of the metric by job; of the status, 1 where it passed."""
    if of.metric == STATUS_METRIC:
        return {job: float(status == Status.PASS) for job, status in statuses.items()}
    marked = InvalidPoint.objects.filter(series=OuterRef("series"), job_id=OuterRef("job"))
    data = Datum.objects.filter(
        ~Exists(marked),
        job__in=list(statuses),
        series__metric=of.metric,
        status=Status.PASS,
        value__isnull=False,
    )
    return {job: value for job, value in data.values_list("job", "value") if value is not None}


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
    """Read how far the search is. Five queries."""
    jobs = list(Job.objects.filter(run__bisection=of).defer("spec", "log_tail"))
    newest = of.runs.order_by("-pk").first()
    workers = runs.workers_alive(of.machine_id, now)
    expected = runs.expected_seconds(newest) if newest else {}
    left = runs.seconds_left(jobs, expected, workers, now)
    # Each measurement halves what is open
    builds_left = sum(row.is_open for row in rows(of)).bit_length()
    return SearchProgress(runs.count_jobs(jobs), left, workers, builds_left)
