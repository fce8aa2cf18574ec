"""Schedules, workers and cases that should have reported and did not, and how many cases pass.
Reads only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from uuid import UUID

from django.db.models import Count, F, Q, Window
from django.db.models.functions import DenseRank

from dashboard.alerts.selectors.evidence import ALERTING
from dashboard.language.durations import duration
from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.language.wording import plural
from dashboard.models import (
    Benchmark,
    Config,
    Datum,
    Job,
    JobState,
    Machine,
    Purpose,
    Run,
    RunState,
    Schedule,
    Series,
    Status,
    Track,
    Worker,
)
from dashboard.runs.selectors.schedules import due_after

LATE = timedelta(minutes=30)
"""A schedule may begin so much later than it is due."""
VANISHED = timedelta(minutes=15)
LOOKED_AT = 40
"""Newest finished scheduled runs of a machine and track, among which are those that asked for a
case: not every run asks for every case."""
USUAL = 8
"""Newest of them, which show how many cases usually pass."""
MISSED = 3
"""A case is missing when so many of the newest runs that asked for it did not bring it, and as many
before did."""
FELL_PERCENT = 10.0
FELL_CASES = 2


@dataclass(frozen=True, slots=True)
class MissingReport:
    """One thing that does not report.

    subject: what identifies it, as "worker:3".
    text: what is missing, and what to do.
    """

    subject: str
    title: str
    text: str
    machine: Machine | None = None
    track: Track | None = None


def find_missing_reports(*, now: datetime, up_since: datetime) -> list[MissingReport]:
    """All that is missing now. up_since: from when on this site has been able to hear anything."""
    return [*_schedules(now, up_since), *_workers(now, up_since), *_of_machines()]


def _schedules(now: datetime, up_since: datetime) -> Iterator[MissingReport]:
    """A schedule that was due, and of which no run began."""
    enabled = Schedule.objects.filter(enabled=True, periodic_task__isnull=False)
    for schedule in enabled.select_related("crontab", "machine", "track", "periodic_task"):
        assert schedule.periodic_task is not None
        runs = schedule.runs.order_by("-created_at").values_list("created_at", flat=True)
        last = runs.first() or schedule.periodic_task.date_changed
        due = due_after(schedule.crontab, last)
        if now <= max(due, up_since) + LATE:
            continue
        overdue = duration((now - due).total_seconds())
        why = schedule.problem or "Look whether the scheduler runs."
        yield MissingReport(
            subject=f"schedule:{schedule.pk}",
            title=f"Schedule {schedule.name} did not run",
            text=f"It was due {overdue} ago, and no run of it began. {why}",
            machine=schedule.machine,
            track=schedule.track,
        )


def _workers(now: datetime, up_since: datetime) -> Iterator[MissingReport]:
    """A worker that is neither paused nor revoked, and has not been heard of."""
    active = Worker.objects.filter(paused=False, token_hash__isnull=False, last_seen__isnull=False)
    for worker in active.select_related("machine"):
        assert worker.last_seen is not None
        if now <= max(worker.last_seen, up_since) + VANISHED:
            continue
        missing_for = duration((now - worker.last_seen).total_seconds())
        advice = "Look at the machine and the worker's log, or pause it in the admin."
        yield MissingReport(
            subject=f"worker:{worker.pk}",
            title=f"Worker {worker} vanished",
            text=f"Last heard of {missing_for} ago. {advice}",
            machine=worker.machine,
        )


def _of_machines() -> Iterator[MissingReport]:
    """Yield what the newest scheduled runs of each track and machine with a worker lack."""
    scheduled = Run.objects.filter(purpose=Purpose.SCHEDULED)
    with_worker = scheduled.filter(machine__workers__isnull=False).order_by()
    for machine_id, track_id in with_worker.values_list("machine", "track").distinct():
        ended = scheduled.filter(
            machine=machine_id,
            track=track_id,
            state__in=(RunState.COMPLETED, RunState.FAILED),
        )
        runs = list(ended.order_by("-created_at").values_list("pk", flat=True)[:LOOKED_AT])
        machine, track = Machine.objects.get(pk=machine_id), Track.objects.get(pk=track_id)
        yield from _cases(runs, machine, track)
        yield from _pass_rate(runs[:USUAL], machine, track)


def _cases(runs: list[int], machine: Machine, track: Track) -> Iterator[MissingReport]:
    """Cases of which MISSED runs that asked for them brought less than the MISSED before those.

    One report for the track where nothing at all came of any of them.
    """
    recent = _newest_jobs(runs)
    missing = _missing_metrics(recent)
    if len(missing) > 1 and _nothing_came(recent):
        yield MissingReport(
            subject=f"runs:{machine.pk}:{track.pk}",
            title=f"Scheduled runs of {machine}, track {track}, bring no results",
            text=f"None of {plural(len(missing), 'case')} that reported before brought a result in "
            f"the {MISSED} newest scheduled runs that asked for it. "
            "Look at the jobs of the newest run.",
            machine=machine,
            track=track,
        )
        return
    for (benchmark, config), metrics in missing.items():
        labels = sorted(METRICS[metric].label.lower() for metric in metrics)
        yield MissingReport(
            subject=f"case:{machine.pk}:{track.pk}:{benchmark.pk}:{config.pk}",
            title=f"{benchmark} in {config} stopped reporting",
            text=f"The {MISSED} newest scheduled runs that asked for it did not bring: "
            f"{', '.join(labels)}. The {MISSED} before them did. Look at the newest job of the "
            "case. If you stopped measuring it on purpose, close this alert.",
            machine=machine,
            track=track,
        )


def _newest_jobs(runs: list[int]) -> dict[UUID, bool]:
    """The jobs of the 2 × MISSED newest runs that asked for each case; whether among the newest.

    A case that fails says so itself: only jobs that passed, or were lost, should have reported.
    """
    by_age = Window(
        DenseRank(),
        partition_by=["benchmark", "config"],
        order_by=[F("run__created_at").desc(), F("run").desc()],
    )
    current = Job.objects.filter(benchmark__retired=False, config__retired=False)
    should_report = current.filter(run__in=runs, status__in=(Status.PASS, "")).exclude(
        state=JobState.CANCELLED
    )
    places = should_report.annotate(place=by_age).filter(place__lte=2 * MISSED).order_by()
    return {job: place <= MISSED for job, place in places.values_list("pk", "place")}


def _missing_metrics(recent: dict[UUID, bool]) -> dict[tuple[Benchmark, Config], list[str]]:
    """By case what each of the earlier runs brought, and none of the newest ones."""
    newest = [job for job, is_newest in recent.items() if is_newest]
    data = Datum.objects.filter(job__in=[*recent], series__metric__in=ALERTING).order_by()
    runs_of_series = data.values("series").annotate(
        new=Count("job__run", distinct=True, filter=Q(job__in=newest)),
        before=Count("job__run", distinct=True, filter=~Q(job__in=newest)),
    )
    silent = [row["series"] for row in runs_of_series.filter(new=0, before=MISSED)]
    missing: dict[tuple[Benchmark, Config], list[str]] = {}
    series_of_cases = Series.objects.filter(pk__in=silent).order_by("pk")
    for series in series_of_cases.select_related("benchmark", "config"):
        missing.setdefault((series.benchmark, series.config), []).append(series.metric)
    return missing


def _nothing_came(recent: dict[UUID, bool]) -> bool:
    """Test whether the newest runs brought nothing for any case."""
    newest = [job for job, is_newest in recent.items() if is_newest]
    return not Datum.objects.filter(job__in=newest).exists()


def _pass_rate(runs: list[int], machine: Machine, track: Track) -> Iterator[MissingReport]:
    """The newest run has a clearly lower share of cases that pass than the ones before it usually
    had.
    """
    statuses = Datum.objects.filter(job__run__in=runs, series__metric=STATUS_METRIC).order_by()
    counts = statuses.values("job__run").annotate(
        cases=Count("pk"), passed=Count("pk", filter=Q(value=1))
    )
    by_run = {row["job__run"]: row for row in counts}
    reported = [by_run[run] for run in runs if run in by_run]
    if len(reported) <= MISSED:
        return
    shares = [100 * row["passed"] / row["cases"] for row in reported]
    newest, usual = shares[0], median(shares[1:])
    cases = reported[0]["cases"]
    fewer_cases = round((usual - newest) / 100 * cases)
    if usual - newest < FELL_PERCENT or fewer_cases < FELL_CASES:
        return
    passed = f"{newest:.0f}% of {cases} cases passed in the newest scheduled run"
    yield MissingReport(
        subject=f"pass_rate:{machine.pk}:{track.pk}",
        title=f"Pass rate fell to {newest:.0f}% on {machine}, track {track}",
        text=f"{passed}; {usual:.0f}% is usual there.",
        machine=machine,
        track=track,
    )
