"""Reads the rollup of series: the newest value of every case at a place, without the data table."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connection

from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Benchmark, Track
from dashboard.results.core.level_sql import no_artefact
from dashboard.results.selectors.build_order import TrackBuild
from dashboard.ui.locations import (
    NamedRow,
    SeriesLocation,
    choose_location,
    first_shown,
)


class Newest(NamedTuple):
    """Values of a series' newest build, and of the build before. A tuple: pages make thousands.

    age: how many builds of its place are newer: 0 for the newest of the track.
    """

    value: float | None
    low: float | None
    high: float | None
    previous: float | None
    status: str
    job: str | None
    at_s: float | None  # seconds since 1970: thousands of datetimes would cost more than the query
    build: str | None = None  # label of the torch build
    age: int = 0

    @property
    def at(self) -> datetime | None:
        if self.at_s is None:
            return None
        return datetime.fromtimestamp(self.at_s, UTC)


@dataclass(slots=True)
class CaseRollup:
    """One case with its newest values by metric key.

    version: the newest of the benchmark that it was measured with; values of older ones, which are
        of another workload, are left out. 0 where neither result nor catalog says it.
    """

    benchmark: str
    family: str
    mode: str
    dtype: str
    size: str
    config: str
    config_position: int
    version: int = 0
    newest: dict[str, Newest] = field(default_factory=dict)
    # Of the newest build among them the most recent: how its last job ended, whatever it brought
    latest: Newest | None = None

    def add(self, metric: str, newest: Newest, version: int = 0) -> None:
        if 0 < version < self.version:
            return
        if version > self.version > 0:
            self.newest.clear()
            self.latest = None
        self.version = max(version, self.version)
        self.newest[metric] = newest
        latest = self.latest
        if newest.at_s and (
            latest is None or (-newest.age, newest.at_s) > (-latest.age, latest.at_s or 0)
        ):
            self.latest = newest

    @property
    def model(self) -> str:
        """The first part of a benchmark's name."""
        return self.benchmark.partition(".")[0]

    def value(self, metric: str) -> float | None:
        newest = self.newest.get(metric)
        return newest.value if newest else None

    @property
    def status(self) -> str:
        return self.latest.status if self.latest else ""

    @property
    def failed(self) -> bool:
        return self.status not in {"", "pass"}


# Each machine and track by itself (LATERAL), so that an index leads to its series, however many
# others there are.
_PLACES = """
    SELECT machine.id, machine.key, machine.label, track.id, track.key, track.label,
           coalesce(build.label, ''), newest.at, NOT EXISTS (
               SELECT FROM dashboard_run AS run
               WHERE run.machine_id = machine.id AND run.track_id = track.id
                     AND run.purpose <> 'import'
                     AND EXISTS (
                         SELECT FROM dashboard_job AS job
                         WHERE job.run_id = run.id AND job.status <> ''
                     )
           ) AS imported, machine.hidden OR track.hidden AS hidden,
           CASE WHEN %(landed)s THEN (
               SELECT max(job.finished_at)
               FROM dashboard_series AS series
               JOIN dashboard_job AS job ON job.uuid = series.last_job_id
               WHERE series.machine_id = machine.id AND series.track_id = track.id
                     AND series.metric IN ('passed', 'latency_ms') AND series.last_at = newest.at
           ) END,
           (
               SELECT count(*)
               FROM dashboard_series AS series
               JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
               WHERE series.machine_id = machine.id AND series.track_id = track.id
                     AND series.metric = 'passed' AND NOT benchmark.imported
                     AND (%(benchmark)s::bigint IS NULL OR benchmark.id = %(benchmark)s)
           ) AS cases
    FROM dashboard_machine AS machine
    CROSS JOIN dashboard_track AS track
    LEFT JOIN dashboard_torchbuild AS build ON build.id = track.build_id
    CROSS JOIN LATERAL (
        SELECT max(last_at) AS at
        FROM dashboard_series
        WHERE machine_id = machine.id AND track_id = track.id
              AND metric IN ('passed', 'latency_ms')
              AND (%(benchmark)s::bigint IS NULL OR benchmark_id = %(benchmark)s)
    ) AS newest
    WHERE newest.at IS NOT NULL
    ORDER BY hidden, imported, track.kind = %(versions)s, newest.at DESC
"""


def series_locations(
    benchmark: Benchmark | None = None, *, landed: bool = False
) -> list[SeriesLocation]:
    """Machines and tracks that have data (of ``benchmark`` alone), the latest first. One query.

    landed: also when their newest results landed.

    Read from the two metrics of which every job that ended has one. No page should begin with what
    comes last (but see `ui.locations.first_shown`): builds side by side after every track that is
    followed, then what was only imported, then what is hidden.
    """
    parameters = {
        "benchmark": benchmark.pk if benchmark else None,
        "versions": Track.Kind.VERSIONS.value,
        "landed": landed,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, parameters)
        return [
            SeriesLocation(NamedRow(*row[:3]), NamedRow(*row[3:6]), *row[6:])
            for row in cursor.fetchall()
        ]


def opening_machine(machines: Collection[str], track: str = "") -> str:
    """The one of these with which a page of builds begins, where the address names none: by the
    rule of home, so that both answer for the same machine. One query.

    machines: those that have something to show, at least one. track: which is asked for.
    """
    locations = [place for place in series_locations() if place.machine.key in machines]
    latest = choose_location(locations, "", track)
    if latest is None:
        return min(machines)
    shown = latest if track else first_shown(locations, latest)
    return shown.machine.key


# In plain SQL: thousands of rows at once, of which the ORM would take longer to build than Postgres
# to find them.
CASE_COLUMNS = """series.metric, benchmark.name, config.name,
           benchmark.family, benchmark.mode, benchmark.dtype, benchmark.size, config.position,
           series.newest_version, series.newest_value, series.newest_low, series.newest_high,
           series.previous_value, series.newest_status, series.newest_job_id::text,
           extract(epoch FROM series.newest_at)::float8, build.label"""
CASE_TABLES = """FROM dashboard_series AS series
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
    JOIN dashboard_config AS config ON config.id = series.config_id
    LEFT JOIN dashboard_torchbuild AS build ON build.id = series.newest_build_id"""
SHOWN = "(benchmark.imported OR NOT benchmark.retired)"
_CASES = f"""
    SELECT {CASE_COLUMNS}
    {CASE_TABLES}
    WHERE series.machine_id = %s AND series.track_id = %s AND series.metric = ANY(%s) AND {SHOWN}
          AND {no_artefact("series.metric", "series.machine_id", "series.benchmark_id")}
    ORDER BY benchmark.position, benchmark.name, config.position
"""


def case_rollups(
    place: SeriesLocation, builds: Iterable[TrackBuild], metrics: Iterable[str]
) -> list[CaseRollup]:
    """Every case of the place with its newest ``metrics``, in registry order. One query.

    builds: `newest_first` of the place.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CASES, [place.machine.pk, place.track.pk, [*metrics, STATUS_METRIC]])
        return case_rollups_of(cursor.fetchall(), builds)


def case_rollups_of(
    rows: Iterable[Sequence[Any]], builds: Iterable[TrackBuild]
) -> list[CaseRollup]:
    """Rows of CASE_COLUMNS as cases, in the order in which each first appears."""
    ages = {build.label: age for age, build in enumerate(builds)}
    cases: dict[tuple[str, str], CaseRollup] = {}
    for metric, benchmark, config, family, mode, dtype, size, position, version, *newest in rows:
        case = cases.get((benchmark, config))
        if case is None:
            case = CaseRollup(benchmark, family, mode, dtype, size, config, position)
            cases[benchmark, config] = case
        of_metric = Newest(*newest)._replace(age=ages.get(newest[-1], len(ages)))
        case.add(metric, of_metric, version)
    return list(cases.values())
