"""One comparison: how far its runs are, and both sides as they were measured for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from dashboard.comparisons.core.matching import Side, libraries_text, measured_with
from dashboard.comparisons.core.metric_effects import Libraries
from dashboard.comparisons.core.sides import MODEL_LIBRARIES
from dashboard.comparisons.selectors import versions
from dashboard.models import Comparison, Job, Run, RunState
from dashboard.runs.selectors import runs as runs_read
from dashboard.runs.selectors.runs import ACTIVE_RUNS, JobCounts


@dataclass(frozen=True, slots=True)
class PairProgress:
    """The jobs of both sides together. workers: how many of the machine take jobs."""

    runs: list[Run]
    counts: JobCounts
    seconds_left: float | None
    workers: int
    failed: list[Job]

    @property
    def is_active(self) -> bool:
        return any(run.state in ACTIVE_RUNS for run in self.runs)

    @property
    def state(self) -> str:
        """As a run's."""
        states = {run.state for run in self.runs}
        if self.is_active:
            return RunState.RUNNING if self.counts.ended or self.counts.running else RunState.QUEUED
        return (
            RunState.CANCELLED
            if RunState.CANCELLED in states
            else max(states, default=RunState.PLANNED)
        )


def listing() -> QuerySet[Comparison]:
    """Comparisons, newest first."""
    return Comparison.objects.select_related("base", "new", "machine", "created_by")


def comparison(uuid: UUID) -> Comparison:
    """Raises Comparison.DoesNotExist."""
    return listing().get(uuid=uuid)


def progress(of: Comparison, now: datetime) -> PairProgress:
    """How far it is. Five queries."""
    found = list(of.runs.select_related("build", "machine").order_by("pk"))
    jobs = Job.objects.filter(run__comparison=of).select_related(
        "benchmark", "config", "run__build"
    )
    ended = list(jobs.defer("spec", "log_tail").order_by("-finished_at"))
    workers = runs_read.workers_alive(of.machine_id, now)
    expected = runs_read.expected_seconds(found[0]) if found else {}
    left = runs_read.seconds_left(ended, expected, workers, now)
    return PairProgress(
        found,
        runs_read.count_jobs(ended),
        left,
        workers,
        [job for job in ended if runs_read.failed(job)],
    )


def sides(of: Comparison, metrics: Iterable[str]) -> tuple[Side, Side]:
    """What was measured for this comparison, base first."""
    source = versions.SideSource(of.machine_id, comparison=of.pk)
    found = versions.by_build(source, [of.base_id, of.new_id], metrics)
    return found[of.base_id], found[of.new_id]


def bridge(of: Comparison, new: Side) -> tuple[Side, Side, str] | None:
    """The new build under the libraries of the comparison, and under its own; None where none was
    measured.

    Third, its own in words. new: the new build's side, which has both.
    """
    own = next(
        (run.libraries for run in of.runs.order_by("pk") if run.libraries != of.libraries), None
    )
    if own is None:
        return None
    before, after = (_of_models(libraries) for libraries in (of.libraries, own))
    return measured_with(new, before), measured_with(new, after), libraries_text(after)


def _of_models(libraries: Mapping[str, str]) -> Libraries:
    """As levels name them: those that make a benchmark's model."""
    return tuple((name, libraries[name]) for name in sorted(libraries) if name in MODEL_LIBRARIES)
