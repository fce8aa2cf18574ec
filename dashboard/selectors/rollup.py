"""Reads the rollup of series: the newest value of every case at a place, without touching the data table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max

from dashboard.models import Benchmark, Series

STATUS_METRIC = "passed"  # every job that ended has this datum, whatever its status
EAGER = "eager"


@dataclass(frozen=True, slots=True)
class Named:
    """A machine or a track as pages name it."""

    pk: int
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where numbers may be compared: one machine and one track. build: where the track stands; at: the newest datum."""

    machine: Named
    track: Named
    build: str
    at: datetime

    @property
    def query(self) -> str:
        """It as part of an address; keys are slugs and need no quoting."""
        return f"machine={self.machine.key}&track={self.track.key}"


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest datum of a series, and the value of the one before."""

    value: float | None
    low: float | None
    high: float | None
    previous: float | None
    status: str
    job: UUID | None
    at: datetime | None


@dataclass(slots=True)
class Case:
    """One case with its newest values by metric key."""

    benchmark: str
    family: str
    mode: str
    dtype: str
    size: str
    config: str
    config_position: int
    newest: dict[str, Newest] = field(default_factory=dict)

    def value(self, metric: str) -> float | None:
        newest = self.newest.get(metric)
        return newest.value if newest else None

    @property
    def latest(self) -> Newest | None:
        """The most recent of its data: tells the status of the last job, whichever metrics it brought."""
        known = [(newest.at, key) for key, newest in self.newest.items() if newest.at]
        return self.newest[max(known)[1]] if known else None

    @property
    def status(self) -> str:
        return self.latest.status if self.latest else ""

    @property
    def failed(self) -> bool:
        return self.status not in {"", "pass"}


@dataclass(frozen=True, slots=True)
class Geomean:
    """The geometric mean of ``metric`` over matched cases, and what it leaves out.

    value: None where no case is matched. low, high: smallest and largest of the matched values.
    matched: cases in the mean. cases: all. failed: whose last job did not pass.
    """

    value: float | None
    low: float | None
    high: float | None
    matched: int
    cases: int
    failed: int


def places(benchmark: Benchmark | None = None) -> list[Place]:
    """Machines and tracks that have data (of ``benchmark`` alone), the one that reported last first. One query."""
    found = Series.objects.filter(benchmark=benchmark) if benchmark else Series.objects.all()
    machine, track = ("machine", "machine__key", "machine__label"), ("track", "track__key", "track__label")
    rows = found.filter(count__gt=0).values_list(*machine, *track, "track__build__label").annotate(at=Max("last_at"))
    return [Place(Named(*row[:3]), Named(*row[3:6]), row[6] or "", row[7]) for row in rows.order_by("-at")]


def choose(known: Sequence[Place], machine: str, track: str) -> Place | None:
    """The place of that machine and track key, or the first that has as much of it as any: the machine counts more.

    So choosing another machine in a form works where the track that was chosen before has no data on it.
    """
    ranked = sorted(
        known, key=lambda place: (machine not in {"", place.machine.key}, track not in {"", place.track.key})
    )
    return ranked[0] if ranked else None


_CASE_FIELDS = (
    "benchmark__name",
    "benchmark__family",
    "benchmark__mode",
    "benchmark__dtype",
    "benchmark__size",
    "config__name",
    "config__position",
)
_NEWEST_FIELDS = ("last_value", "last_low", "last_high", "previous_value", "last_status", "last_job_id", "last_at")


def cases(place: Place, metrics: Iterable[str], **only: str) -> list[Case]:
    """Every case of the place with its newest ``metrics``; ``only`` narrows by benchmark fields. One query."""
    narrowed = {f"benchmark__{name}": value for name, value in only.items() if value}
    rows: Iterable[tuple[Any, ...]] = (
        Series.objects.filter(
            machine=place.machine.pk,
            track=place.track.pk,
            metric__in=[*metrics, STATUS_METRIC],
            benchmark__retired=False,
            **narrowed,
        )
        .order_by("benchmark__position", "benchmark__name", "config__position")
        .values_list("metric", *_CASE_FIELDS, *_NEWEST_FIELDS)
    )
    found: dict[tuple[str, str], Case] = {}
    width = 1 + len(_CASE_FIELDS)
    for row in rows:
        case = found.setdefault((row[1], row[6]), Case(*row[1:width]))
        case.newest[row[0]] = Newest(*row[width:])
    return list(found.values())


def geomean(found: Sequence[Case], metric: str) -> Geomean:
    """The geometric mean of the newest values of ``metric``: exp(mean(log(value))). Values ≤ 0 are left out."""
    values = [value for case in found if not case.failed and (value := case.value(metric)) is not None and value > 0]
    mean = math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None
    return Geomean(
        mean,
        min(values, default=None),
        max(values, default=None),
        len(values),
        len(found),
        sum(case.failed for case in found),
    )
