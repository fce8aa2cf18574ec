"""A run's state follows from its jobs' states: docs/architecture.md draws both."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count, Exists, QuerySet
from django.utils import timezone

from dashboard.models import Job, JobState, Run, RunState
from dashboard.runs.selectors.runs import ACTIVE, WAITING


def refresh_runs(*, run_ids: Iterable[int]) -> None:
    """Bring the runs' states up to date, in the same transaction that changed their jobs.

    The run's row is locked before its jobs are counted: of two jobs that end at the same time, the
    second one to get here sees the first one's end, and the run ends.
    """
    with transaction.atomic(savepoint=False):
        for run in _locked(run_ids):
            if _is_under_way(run.pk):
                _set_state(run, RunState.RUNNING)
            else:
                _set_state(run, state_of(count_jobs(run.pk)))


def mark_running(*, run_id: int) -> None:
    """As `refresh_runs`, without counting, for a run of which a job was just claimed."""
    _set_state(_locked([run_id]).get(), RunState.RUNNING)


def _locked(run_ids: Iterable[int]) -> QuerySet[Run]:
    runs = Run.objects.filter(pk__in=set(run_ids)).order_by("pk")
    return runs.select_for_update(no_key=True).only("state", "finished_at")


def _set_state(run: Run, state: RunState) -> None:
    if state == run.state:
        return
    run.state = state
    run.finished_at = timezone.now() if is_over(state) else None
    run.save(update_fields=["state", "finished_at"])


def _is_under_way(run_id: int) -> bool:
    """Test whether some jobs have begun and others have not ended: two look-ups for any number."""
    jobs = Job.objects.filter(run=run_id)
    begun = jobs.filter(state__in=[state for state in JobState if state not in WAITING])
    return jobs.filter(state__in=ACTIVE).filter(Exists(begun)).exists()


def count_jobs(run_id: int) -> dict[str, int]:
    """Count the jobs of the run in each state."""
    rows = Job.objects.filter(run=run_id).order_by().values_list("state").annotate(Count("pk"))
    return dict(rows)


def state_of(counts: dict[str, int]) -> RunState:
    """The run's state, from how many of its jobs are in each state."""
    active = sum(counts.get(state, 0) for state in ACTIVE)
    if not active:
        return end_state(counts)
    has_ended_jobs = active < sum(counts.values())
    if counts.get(JobState.RUNNING) or has_ended_jobs:
        return RunState.RUNNING
    if counts.get(JobState.PLANNED):
        return RunState.PLANNED
    return RunState.QUEUED


def end_state(counts: dict[str, int]) -> RunState:
    if counts.get(JobState.CANCELLED):
        return RunState.CANCELLED
    if counts.get(JobState.DONE):
        return RunState.COMPLETED
    return RunState.FAILED


def is_over(state: str) -> bool:
    return state in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
