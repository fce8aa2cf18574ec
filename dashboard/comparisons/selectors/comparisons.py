"""One comparison: how far its runs are, and both sides as they were measured for it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from dashboard.catalog.selectors.flavours import compared_build, other_differences
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core.case_table import ReportWithTable, report_with_table
from dashboard.comparisons.core.libraries import Libraries, libraries_text
from dashboard.comparisons.core.matching import Side, measured_with
from dashboard.comparisons.core.sides import MODEL_LIBRARIES
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS, UpgradeReport, build_report
from dashboard.comparisons.core.upgrade_report import CaseKernels, ReportSubject
from dashboard.comparisons.selectors import case_kernels, versions
from dashboard.comparisons.selectors.case_jobs import jobs_of_cases
from dashboard.comparisons.selectors.versions import MeasuredSide, SideSource
from dashboard.language.metrics import Metric
from dashboard.language.wording import plural
from dashboard.models import (
    Comparison,
    InstalledEnvironment,
    Job,
    Result,
    Run,
    RunState,
    TorchBuild,
)
from dashboard.runs.selectors import runs as runs_read
from dashboard.runs.selectors.runs import ACTIVE_RUNS, ENDED, JobCounts


@dataclass(frozen=True, slots=True)
class PairProgress:
    """The jobs of both sides together. workers: how many of the machine take jobs. is_settled: as
    the comparison's. installing: builds whose environments are being made on the machine.
    """

    runs: list[Run]
    counts: JobCounts
    seconds_left: float | None
    workers: int
    failed: list[Job]
    is_settled: bool
    installing: list[TorchBuild]

    @property
    def is_active(self) -> bool:
        return not self.is_settled or any(run.state in ACTIVE_RUNS for run in self.runs)

    @property
    def state(self) -> str:
        """As a run's."""
        states = {run.state for run in self.runs}
        if self.is_active:
            has_begun = self.counts.ended or self.counts.running
            return RunState.RUNNING if has_begun else RunState.QUEUED
        if RunState.CANCELLED in states:
            return RunState.CANCELLED
        return max(states, default=RunState.PLANNED)


@dataclass(frozen=True, slots=True)
class ComparisonResults:
    """Results that a comparison has so far.

    bridge: the new build under its own libraries against those of the comparison; None where none
        was measured. own_libraries: those, in words.
    """

    shown: ReportWithTable
    has_data: bool
    bridge: UpgradeReport | None
    own_libraries: str


def listing() -> QuerySet[Comparison]:
    """Comparisons, newest first."""
    return Comparison.objects.select_related("base", "new", "machine", "created_by", "track")


def progress(of: Comparison, now: datetime) -> PairProgress:
    """Read how far the comparison is. Six queries."""
    runs = list(of.runs.select_related("build__base", "machine").order_by("pk"))
    related = Job.objects.select_related("benchmark", "config", "run__build")
    of_jobs = related.filter(run__in=runs).defer("spec", "log_tail")
    jobs = list(of_jobs.order_by("-finished_at"))
    workers = runs_read.workers_alive(of.machine_id, now)
    expected = runs_read.expected_seconds(runs[0]) if runs else {}
    return PairProgress(
        runs,
        runs_read.count_jobs(jobs),
        runs_read.seconds_left(jobs, expected, workers, now),
        workers,
        [job for job in jobs if runs_read.failed(job)],
        of.is_settled,
        _being_installed(of.machine_id, runs),
    )


def _being_installed(machine: int, runs: Iterable[Run]) -> list[TorchBuild]:
    environments = InstalledEnvironment.objects.filter(
        worker__machine=machine,
        # A variant runs in its base's
        build__in={run.build.base_id or run.build_id for run in runs},
        state=InstalledEnvironment.State.BUILDING,
    )
    return [environment.build for environment in environments.select_related("build")]


def measured_sides(of: Comparison) -> tuple[MeasuredSide, MeasuredSide]:
    """Return the source and build of base and of new, measured for this comparison alone."""
    source = SideSource(of.machine_id, comparison=of.pk)
    return (source, of.base_id), (source, of.new_id)


def so_far(of: Comparison) -> str:
    """Describe how much of it has ended while it is measured; empty afterwards. One query."""
    jobs = Job.objects.filter(run__comparison=of)
    states = Counter(jobs.values_list("state", flat=True))
    ended = sum(count for state, count in states.items() if state in ENDED)
    if of.is_settled and ended == states.total():
        return ""
    return f"So far: {ended} of {plural(states.total(), 'job')} ended."


def differences(of: Comparison) -> str:
    """Describe what differs between its builds besides torch's version; may be empty."""
    machine = of.machine_id
    return other_differences(compared_build(of.base, machine), compared_build(of.new, machine))


def subject(of: Comparison, address: str) -> ReportSubject:
    """Return the subject of its report. address: of its page."""
    return ReportSubject(of.question, address, differences(of), so_far(of))


def kernels(of: Comparison, report: UpgradeReport) -> list[CaseKernels]:
    """Find the kernels that account for the changes of its report."""
    return case_kernels.sentences(report, *measured_sides(of))


def sides(of: Comparison, metrics: Iterable[str]) -> tuple[Side, Side]:
    """Read what was measured for this comparison, base first."""
    source = SideSource(of.machine_id, comparison=of.pk)
    by_build = versions.by_build(source, [of.base_id, of.new_id], metrics, to_pair=True)
    return by_build[of.base_id], by_build[of.new_id]


def with_graph_breaks(of: Comparison, gate: gating.Gate) -> gating.Gate:
    """The gate, which says where the new build's graph breaks are. Two queries where it has any."""
    jobs = jobs_of_cases(gating.rows_with_graph_breaks(gate), *measured_sides(of), "graph_breaks")
    every = [job for each in jobs.values() for job in (each.base, each.new)]
    results = Result.objects.filter(pk__in=every)
    sections = dict(results.values_list("pk", "document__compile")) if every else {}
    compiled = {}
    for key, each in jobs.items():
        compiled[key] = sections[each.base] or {}, sections[each.new] or {}
    return gating.with_graph_breaks(gate, compiled)


def report(of: Comparison) -> UpgradeReport:
    return build_report(*sides(of, REPORT_METRICS), is_complete=True)


def results(of: Comparison, metric: Metric) -> ComparisonResults:
    """All that its page shows. metric: of the table of cases."""
    base, new = sides(of, {*REPORT_METRICS, metric.key})
    bridged, own_libraries = None, ""
    if own := bridge(of, new):
        shared_side, own_side, own_libraries = own
        bridged = build_report(shared_side, own_side, any_libraries=True)
    return ComparisonResults(
        report_with_table(base, new, metric, is_complete=True),
        bool(base or new),
        bridged,
        own_libraries,
    )


def bridge(of: Comparison, new: Side) -> tuple[Side, Side, str] | None:
    """The new build under the libraries of the comparison, and under its own; None where none was
    measured.

    Third, its own in words. new: the new build's side, which has both.
    """
    for run in of.runs.order_by("pk"):
        if run.libraries != of.libraries:
            shared, own = _of_models(of.libraries), _of_models(run.libraries)
            return measured_with(new, shared), measured_with(new, own), libraries_text(own)
    return None


def _of_models(libraries: Mapping[str, str]) -> Libraries:
    """As levels name them: those that make a benchmark's model."""
    return tuple((name, libraries[name]) for name in sorted(libraries) if name in MODEL_LIBRARIES)
