"""What should have reported and did not: schedules, workers, series, and how many cases pass. Reads
only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Count, Q

from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.language.wording import duration
from dashboard.models import Datum, Machine, Purpose, Run, RunState, Schedule, Series, Track, Worker

LATE = timedelta(minutes=30)
"""A schedule may begin so much later than it is due."""
VANISHED = timedelta(minutes=15)
LOOKED_AT = 8
"""Finished scheduled runs of a machine and track, the newest ones, that say what usually
reports.
"""
MISSED = 3
"""A series is silent when so many of the newest runs did not bring it, and as many before them
did.
"""
FELL_PERCENT = 10.0
FELL_CASES = 2


@dataclass(frozen=True, slots=True)
class Silence:
    """One thing that is silent. subject: what identifies it, as "worker:3"; text: what is missing,
    and what to do.
    """

    subject: str
    title: str
    text: str
    machine: Machine | None = None
    track: Track | None = None


def find(*, now: datetime, up_since: datetime) -> list[Silence]:
    """All that is silent now. up_since: from when on this site has been able to hear anything."""
    return [*_schedules(now, up_since), *_workers(now, up_since), *_places()]


def _schedules(now: datetime, up_since: datetime) -> Iterator[Silence]:
    """A schedule that was due, and of which no run began."""
    known = Schedule.objects.filter(enabled=True, periodic_task__isnull=False)
    for schedule in known.select_related("crontab", "machine", "track", "periodic_task"):
        last = schedule.runs.order_by("-created_at").values_list("created_at", flat=True).first()
        assert schedule.periodic_task is not None
        since, wait, _ = schedule.crontab.schedule.remaining_delta(
            last or schedule.periodic_task.date_changed
        )
        due = since + wait
        if now > max(due, up_since) + LATE:
            why = (
                f" {schedule.problem}" if schedule.problem else " Look whether the scheduler runs."
            )
            text = (
                f"It was due {duration((now - due).total_seconds())} ago, and no run of it "
                f"began.{why}"
            )
            title = f"Schedule {schedule.name} did not run"
            yield Silence(f"schedule:{schedule.pk}", title, text, schedule.machine, schedule.track)


def _workers(now: datetime, up_since: datetime) -> Iterator[Silence]:
    """A worker that is neither paused nor revoked, and has not been heard of."""
    known = Worker.objects.filter(paused=False, token_hash__isnull=False, last_seen__isnull=False)
    for worker in known.select_related("machine"):
        assert worker.last_seen is not None
        if now > max(worker.last_seen, up_since) + VANISHED:
            silent = duration((now - worker.last_seen).total_seconds())
            text = (
                f"Last heard of {silent} ago. Look at the machine and the worker's log, or "
                "pause it in the admin."
            )
            yield Silence(f"worker:{worker.pk}", f"Worker {worker} vanished", text, worker.machine)


def _places() -> Iterator[Silence]:
    """What the newest scheduled runs of each machine (that has a worker) and track did not
    bring.
    """
    scheduled = Run.objects.filter(
        purpose=Purpose.SCHEDULED, machine__workers__isnull=False
    ).order_by()
    there = scheduled.values_list("machine", "track").distinct()
    for machine_id, track_id in there:
        ended = Run.objects.filter(
            machine=machine_id,
            track=track_id,
            purpose=Purpose.SCHEDULED,
            state__in=(RunState.COMPLETED, RunState.FAILED),
        )
        runs = list(ended.order_by("-created_at").values_list("pk", flat=True)[:LOOKED_AT])
        machine, track = Machine.objects.get(pk=machine_id), Track.objects.get(pk=track_id)
        yield from _series(runs, machine, track)
        yield from _pass_rate(runs, machine, track)


def _series(runs: list[int], machine: Machine, track: Track) -> Iterator[Silence]:
    """Series that reported in each of MISSED runs, and in none of the MISSED runs after them."""
    if len(runs) < 2 * MISSED:
        return
    new, before = set(runs[:MISSED]), set(runs[MISSED : 2 * MISSED])
    alerting = [metric.key for metric in METRICS.values() if metric.alerts]
    found = Datum.objects.filter(job__run__in=new | before, series__metric__in=alerting).order_by()
    counted = found.values("series").annotate(
        new=Count("job__run", distinct=True, filter=Q(job__run__in=new)),
        before=Count("job__run", distinct=True, filter=Q(job__run__in=before)),
    )
    silent = [row["series"] for row in counted.filter(new=0, before=MISSED)]
    known = Series.objects.filter(pk__in=silent, benchmark__retired=False, config__retired=False)
    for series in known.select_related("benchmark", "config"):
        name = f"{METRICS[series.metric].label} of {series.benchmark} in {series.config}"
        text = (
            f"The last {MISSED} scheduled runs did not bring it, the {MISSED} before them did. "
            "Look at the newest job "
            "of the case; if it is no longer to be measured, close this alert."
        )
        yield Silence(f"series:{series.pk}", f"{name} stopped reporting", text, machine, track)


def _pass_rate(runs: list[int], machine: Machine, track: Track) -> Iterator[Silence]:
    """The newest run has a clearly lower share of cases that pass than the ones before it usually
    had.
    """
    found = Datum.objects.filter(job__run__in=runs, series__metric=STATUS_METRIC).order_by()
    rows = found.values("job__run").annotate(
        cases=Count("pk"), passed=Count("pk", filter=Q(value=1))
    )
    shares = {row["job__run"]: (100 * row["passed"] / row["cases"], row["cases"]) for row in rows}
    known = [shares[run] for run in runs if run in shares]
    if len(known) <= MISSED:
        return
    (newest, cases), usual = known[0], median(share for share, _ in known[1:])
    if usual - newest >= FELL_PERCENT and round((usual - newest) / 100 * cases) >= FELL_CASES:
        text = (
            f"{newest:.0f} % of {cases} cases passed in the newest scheduled run; "
            f"{usual:.0f} % is usual there."
        )
        title = f"Pass rate fell to {newest:.0f} % on {machine}, track {track}"
        yield Silence(f"pass_rate:{machine.pk}:{track.pk}", title, text, machine, track)
