"""Data of a series page: the series that a benchmark has, and their data as numpy arrays."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, groupby
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small
from django.db import connection
from numpy.typing import NDArray

from dashboard.language.metrics import Metric, is_artefact
from dashboard.language.wording import ValueChange, change, effect, is_count, quiet
from dashboard.models import Benchmark, Config, Series
from dashboard.ui.charts import TREND_PURPOSES, ChartLine
from dashboard.ui.config_looks import slots
from dashboard.ui.locations import SeriesLocation

_DAY_MS = 86_400_000
_LEAST_REPEATS = 10  # of builds, before their spread gives a change an interval
_MOST_PAIRED = 20  # data of one build, each of which is held against each other
# In plain SQL: the ORM takes three times as long for the same rows, most of it in making datetimes.
# Each series is read backwards along the primary key; LIMIT NULL reads all of it. Of the series in
# `failures` only the data without a value come: the failures of the cases in `series`.
_DATA = """
    SELECT datum.series_id, extract(epoch FROM datum.planned_at)::float8,
           datum.value, datum.low, datum.high,
           datum.status, datum.purpose, build.label, datum.job_id::text, datum.environment_id,
           datum.benchmark_version
    FROM unnest(%(series)s::bigint[] || %(failures)s::bigint[]) AS requested (id)
    CROSS JOIN LATERAL (
        SELECT *
        FROM dashboard_datum
        WHERE series_id = requested.id
              AND (%(start)s::timestamptz IS NULL OR planned_at >= %(start)s)
              AND (%(end)s::timestamptz IS NULL OR planned_at < %(end)s)
        ORDER BY planned_at DESC, job_id DESC
        LIMIT %(newest)s
    ) AS datum
    JOIN dashboard_torchbuild AS build ON build.id = datum.build_id
    WHERE requested.id = ANY(%(series)s) OR datum.value IS NULL
    ORDER BY datum.planned_at, datum.job_id
"""
# The metric in whose series a case shows that it failed without bringing a number
_FAILURES = "latency_ms"


class Window(NamedTuple):
    """A span of time, from ``start`` until before ``end``; None: without that end."""

    start: datetime | None = None
    end: datetime | None = None


EVER = Window()


@dataclass(frozen=True, slots=True)
class TrendSeries:
    """The series of one benchmark at one place: the configs and metrics that have data."""

    series: list[Series]

    def metrics(self) -> set[str]:
        return {series.metric for series in self.series}

    def configs(self, metric: str) -> list[Config]:
        return [series.config for series in self.series if series.metric == metric]

    def choose(self, metric: str, configs: Iterable[str]) -> list[Series]:
        """The series of ``metric`` for ``configs`` (none: for all), in registry order."""
        names = set(configs)
        of_metric = [series for series in self.series if series.metric == metric]
        if not names:
            return of_metric
        return [series for series in of_metric if series.config.name in names]

    def lines(
        self, chosen: Sequence[Series], newest: int | None = None, within: Window = EVER
    ) -> list[ChartLine]:
        """The data of ``chosen`` with the failures of their cases, in time order. One query.

        newest: only so many of each series. within: only those of that time. A series without data
        has no line.
        """
        if not chosen:
            return []
        chosen_ids = {series.pk for series in chosen}
        by_config = {series.config_id: series.pk for series in chosen}
        # Series in which rows are read -> the chosen series whose line they belong to
        line_of = {pk: pk for pk in chosen_ids}
        for series in self.series:
            if series.metric == _FAILURES and series.config_id in by_config:
                line_of.setdefault(series.pk, by_config[series.config_id])

        parameters = {
            "series": [*chosen_ids],
            "failures": [*line_of.keys() - chosen_ids],
            "newest": newest,
            "start": within.start,
            "end": within.end,
        }
        rows_of: dict[int, list[tuple[Any, ...]]] = {series.pk: [] for series in chosen}
        with connection.cursor() as cursor:
            cursor.execute(_DATA, parameters)
            for row in cursor.fetchall():
                rows_of[line_of[row[0]]].append(row)
        colours = slots(series.config.position for series in chosen)
        lines = []
        for series in chosen:
            if rows := rows_of[series.pk]:
                lines.append(_line(series, colours[series.config.position], rows))
        return lines


def recorded_series(benchmark: Benchmark, place: SeriesLocation) -> TrendSeries:
    """Every series of the benchmark at the place that says something. One query."""
    series = Series.objects.filter(
        benchmark=benchmark, machine=place.machine.pk, track=place.track.pk, count__gt=0
    )
    related = series.select_related("config", "machine", "newest_build", "previous_build")
    recorded = []
    for row in related.order_by("config__position", "config__name"):
        if not is_artefact(row.metric, row.machine.device_kind, benchmark.size):
            recorded.append(row)
    return TrendSeries(recorded)


def _line(series: Series, slot: int, rows: list[tuple[Any, ...]]) -> ChartLine:
    _, seconds, value, low, high, status, purpose, build, job, environment, version = zip(
        *rows, strict=True
    )
    return ChartLine(
        name=series.config.name,
        position=series.config.position,
        slot=slot,
        at_ms=(np.array(seconds) * 1000).astype(np.int64),
        value=np.array(value, np.float64),
        low=np.array(low, np.float64),
        high=np.array(high, np.float64),
        status=status,
        purpose=purpose,
        build=build,
        job=job,
        environment=environment,
        version=version,
    )


@dataclass(frozen=True, slots=True)
class LineSummary:
    """One config of a series page in a line of words; all of the newest version of the benchmark.

    series: has the newest value, and that of the build before. since_previous: from one to the
        other, with its 95% interval where repeats show the spread between processes. A change that
        the spread may explain has no good or bad tone.
    between_percent: robust standard deviation between processes as percent of the value, over
    builds with repeats; None without repeats. repeats: how many data those builds have.
    """

    line: ChartLine
    series: Series
    since_previous: ValueChange | None
    in_turn: bool  # a build was measured again after another one
    between_percent: float | None
    repeats: int
    failed: int

    @property
    def count(self) -> int:
        return len(self.line.value)


def summary(line: ChartLine, metric: Metric, series: Series) -> LineSummary:
    """Summarize in words the trend of ``line``, the data of ``series``."""
    is_good = ~np.isnan(line.value)
    good = np.flatnonzero(is_good & line.is_newest)
    between = _between_processes(line, good)
    # Confirmations and bisections measure old builds again
    in_trend = [at for at in good.tolist() if line.purpose[at] in TREND_PURPOSES]
    in_turn = _came_in_turn(line.build[at] for at in in_trend)
    return LineSummary(
        line,
        series,
        since_previous=_since_previous(metric, line, good, between, series),
        in_turn=in_turn,
        between_percent=between.percent,
        repeats=between.repeats,
        failed=int(np.count_nonzero(~is_good)),
    )


def _came_in_turn(builds: Iterable[str]) -> bool:
    """Test whether a build was measured again after another one."""
    blocks = [build for build, _ in groupby(builds)]
    return len(blocks) > len(set(blocks))


class _Spread(NamedTuple):
    """Between the processes of one build. percent: None without repeats. repeats: the data of the
    builds that have several; freedom: without one of each build, for its level.
    """

    percent: float | None
    repeats: int
    freedom: int


def _since_previous(
    metric: Metric,
    line: ChartLine,
    good: NDArray[np.intp],
    between: _Spread,
    series: Series,
) -> ValueChange | None:
    """The newest build's mean against that of the build before.

    Its interval is ln(new / old) ± t · s · √(1/n + 1/m), with s the spread between processes, and n
    and m the processes of both. Of repeats that are all of one day, s says nothing of builds on two
    days: then there is no interval.
    """
    old, new = series.previous_value, series.newest_value
    if old is None or new is None or series.newest_build is None or series.previous_build is None:
        return None
    plain = quiet(change(metric, old, new), metric)
    has_spread = between.percent and between.repeats >= _LEAST_REPEATS
    if not has_spread or is_count(metric) or min(old, new) <= 0:
        return plain
    labels = series.previous_build.label, series.newest_build.label
    of_builds = [[at for at in good.tolist() if line.build[at] == label] for label in labels]
    if not all(of_builds):  # not within what is shown
        return plain
    days = line.at_ms // _DAY_MS
    is_one_day = len(np.unique(days[[*of_builds[0], *of_builds[1]]])) == 1
    if not is_one_day and not _repeats_span_days(line, good, days):
        return plain

    deviation = math.log1p((between.percent or 0) / 100)
    error = deviation * math.sqrt(sum(1 / len(data) for data in of_builds))
    half_width = float(scipy.stats.t.ppf(0.975, between.freedom)) * error
    ratio = math.log(new / old)
    percent, low, high = (
        100 * math.expm1(end) for end in (ratio, ratio - half_width, ratio + half_width)
    )
    is_shown = low > 0 or high < 0
    moved = quiet(effect(metric, percent, low, high, "percent"), metric, is_shown=is_shown)
    reaches_threshold = max(-low, high) >= metric.threshold_percent
    if moved and moved.tone == "none" and reaches_threshold and not is_shown:
        return replace(moved, tone="unknown")  # the change may as well be a large one
    return moved


def _repeats_span_days(line: ChartLine, good: NDArray[np.intp], days: NDArray[np.int64]) -> bool:
    """Test whether a build was measured on more than one day."""
    first_day: dict[str, int] = {}
    return any(
        first_day.setdefault(line.build[index], int(days[index])) != days[index]
        for index in good.tolist()
    )


def _between_processes(line: ChartLine, good: NDArray[np.intp]) -> _Spread:
    """Over the builds that were measured more than once: 1.4826 / √2 × the median absolute
    difference, in logs, of two data of one build. Single outliers do not move it.

    Of few data, deviations from their median would be too small: of three one is the median. Of
    many they are as good, and there are too many pairs.
    """
    good = good[line.value[good] > 0]
    by_build: dict[str, list[float]] = {}
    for index, log in zip(good.tolist(), np.log(line.value[good]).tolist(), strict=True):
        by_build.setdefault(line.build[index], []).append(log)

    repeated = [logs for logs in by_build.values() if len(logs) > 1]
    if not repeated:
        return _Spread(None, 0, 0)
    differences: list[float] = []
    for logs in repeated:  # a few each: numpy would take ten times as long
        if len(logs) <= _MOST_PAIRED:
            differences += [abs(new - old) for old, new in combinations(logs, 2)]
        else:
            level = median(logs)
            differences += [math.sqrt(2) * abs(log - level) for log in logs]
    deviation = 1.4826 / math.sqrt(2) * median(differences)
    repeats = sum(map(len, repeated))
    return _Spread(100 * math.expm1(deviation), repeats, repeats - len(repeated))
