"""A run's state follows from its jobs' states: docs/architecture.md draws both."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Count, Exists, QuerySet
from django.utils import timezone

from dashboard.models import Job, JobState, Run, RunState

WAITING = (JobState.PLANNED, JobState.QUEUED)
ACTIVE = (*WAITING, JobState.RUNNING)
RETRYABLE = (JobState.FAILED, JobState.TIMED_OUT, JobState.LOST, JobState.CANCELLED)


def refresh_runs(*, run_ids: Iterable[int]) -> None:
    """Bring the runs' states up to date. Call it after their jobs were changed, in the same
    transaction.

    The run's row is locked before its jobs are counted: of two jobs that end at the same time, the
    second one to get here sees the first one's end, and the run ends.
    """
    with transaction.atomic(savepoint=False):
        for run in _locked(run_ids):
            state = RunState.RUNNING if _goes_on(run.pk) else state_of(count_jobs(run.pk))
            if state != run.state:
                run.finished_at = timezone.now() if is_over(state) else None
                run.state = state
                run.save(update_fields=["state", "finished_at"])


def note_running(*, run_id: int) -> None:
    """Bring a run's state up to date of which a job was just claimed, without counting. Call it as
    `refresh_runs`.
    """
    run = _locked([run_id]).get()
    if run.state != RunState.RUNNING:
        run.state, run.finished_at = RunState.RUNNING, None
        run.save(update_fields=["state", "finished_at"])


def _locked(run_ids: Iterable[int]) -> QuerySet[Run]:
    wanted = Run.objects.filter(pk__in=set(run_ids)).order_by("pk")
    return wanted.select_for_update(no_key=True).only("state", "finished_at")


def _goes_on(run_id: int) -> bool:
    """Whether some of the run's jobs are still to end and others have begun: two look-ups, however
    many there are.
    """
    jobs = Job.objects.filter(run=run_id)
    begun = [state for state in JobState if state not in WAITING]
    return jobs.filter(state__in=ACTIVE).filter(Exists(jobs.filter(state__in=begun))).exists()


def count_jobs(run_id: int) -> dict[str, int]:
    rows = Job.objects.filter(run=run_id).order_by().values_list("state").annotate(Count("pk"))
    return dict(rows)


def state_of(counts: dict[str, int]) -> RunState:
    """The run's state, from how many of its jobs are in each state."""
    active = sum(counts.get(state, 0) for state in ACTIVE)
    if not active:
        return end_state(counts)
    if counts.get(JobState.RUNNING) or active < sum(counts.values()):
        return RunState.RUNNING
    return RunState.PLANNED if counts.get(JobState.PLANNED) else RunState.QUEUED


def end_state(counts: dict[str, int]) -> RunState:
    if counts.get(JobState.CANCELLED):
        return RunState.CANCELLED
    return RunState.COMPLETED if counts.get(JobState.DONE) else RunState.FAILED


def is_over(state: str) -> bool:
    return state in (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)
