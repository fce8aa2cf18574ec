"""Things that a person should look at, in the order in which they matter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse

from dashboard.home.selectors.home import ScheduleLine
from dashboard.language.durations import duration
from dashboard.runs.selectors.fleet import WorkerRow
from dashboard.ui.locations import SeriesLocation

_OLD = timedelta(hours=36)  # a nightly schedule has missed a night


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that a person should look at, and where."""

    text: str
    url: str


def attention(
    now: datetime,
    place: SeriesLocation | None,
    workers: Sequence[WorkerRow],
    schedules: Sequence[ScheduleLine],
) -> list[Attention]:
    """Silent and blocked workers, then schedules, then results that are old."""
    notes = [*_silent(workers), *_overdue(schedules, now)]
    blocked = [row.worker for row in workers if row.state == "blocked"]
    notes += [Attention(f"{each.name}: {each.obstacle}", reverse("fleet")) for each in blocked]
    if place and schedules and now - place.at > _OLD:
        notes.append(
            Attention(f"The newest result here is {_ago(now, place.at)} old.", reverse("runs"))
        )
    return notes


def _silent(workers: Sequence[WorkerRow]) -> Iterable[Attention]:
    silent = [row.worker.name for row in workers if row.state == "silent"]
    if not silent:
        return
    names = ", ".join(silent[:3])
    if len(silent) > 3:
        names += f" and {len(silent) - 3} more"
    noun = "workers" if len(silent) > 1 else "worker"
    yield Attention(f"No sign of life: {noun} {names}.", reverse("fleet"))


def _overdue(schedules: Sequence[ScheduleLine], now: datetime) -> Iterable[Attention]:
    for line in schedules:
        name = line.schedule.name
        if line.is_late and line.due:
            text = f"Schedule {name} was due {_ago(now, line.due)} ago and did not begin."
            yield Attention(text, f"{reverse('fleet')}#schedules")
        elif line.schedule.problem:
            yield Attention(
                f"Schedule {name}: {line.schedule.problem}", f"{reverse('fleet')}#schedules"
            )


def _ago(now: datetime, then: datetime) -> str:
    return duration((now - then).total_seconds())
