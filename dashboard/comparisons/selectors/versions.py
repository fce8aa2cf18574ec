"""What was measured of one build on one machine, whatever tracks and runs it came from: the sides
of a comparison.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Max

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.device_effects import DeviceGroup
from dashboard.comparisons.core.matching import (
    GPU_UTILIZATION,
    CaseMeasurements,
    ComparedCase,
    Key,
    Side,
)
from dashboard.comparisons.core.metric_effects import CaseSamples, Libraries, pool_samples
from dashboard.comparisons.core.ratios import Level
from dashboard.models import Benchmark, Config, Run, RunState
from dashboard.results.core.level_sql import COUNTED, LEVEL, OF_PLACE

# Any runs of a build: from the rollup, one range of one index.
_LEVELS = """
    SELECT build_id, benchmark_id, config_id, metric, benchmark_version, libraries, device,
           count, log_mean, log_m2, within, least, most, mean, job::text
    FROM dashboard_buildlevel
    WHERE machine_id = %(machine)s AND build_id = ANY(%(builds)s) AND metric = ANY(%(metrics)s)
          AND (%(track)s::bigint IS NULL OR track_id = %(track)s)
          AND (%(config)s::bigint IS NULL OR config_id = %(config)s)
          AND (%(benchmark)s::bigint IS NULL OR benchmark_id = %(benchmark)s)
"""
# The runs of one comparison or search, which are few: to their jobs and the jobs' data, each by an
# index; planned_at keeps the data to their partitions. What the columns are, level_sql.py says.
_RUNS = """
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
"""
_WHERE = """
    WHERE run.build_id = ANY(%(builds)s) AND run.machine_id = %(machine)s
          AND (%(track)s::bigint IS NULL OR run.track_id = %(track)s)
          AND (%(comparison)s::bigint IS NULL OR run.comparison_id = %(comparison)s)
          AND (%(bisection)s::bigint IS NULL OR run.bisection_id = %(bisection)s)
          AND (%(config)s::bigint IS NULL OR job.config_id = %(config)s)
          AND (%(benchmark)s::bigint IS NULL OR job.benchmark_id = %(benchmark)s)
"""
_MEASURED = f"""
    SELECT run.build_id, job.benchmark_id, job.config_id, series.metric, datum.benchmark_version,
           place.libraries, place.device, {LEVEL}::text
    {_RUNS}
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    JOIN dashboard_series AS series ON series.id = datum.series_id
    {OF_PLACE}
    {_WHERE} AND series.metric = ANY(%(metrics)s) AND {COUNTED}
    GROUP BY 1, 2, 3, 4, 5, 6, 7
"""
_FAILED = f"""
    SELECT run.build_id, job.benchmark_id, job.config_id, job.status, count(*)
    {_RUNS} {_WHERE} AND job.status NOT IN ('', 'pass') AND job.finished_at IS NOT NULL
    GROUP BY 1, 2, 3, 4
"""

# Equal for equal data: a landed result, an invalid point and a removed run all change it.
_STAMP = f"""
    SELECT count(*), coalesce(bit_xor(hashtextextended(
               concat_ws(' ', series_id, build_id, benchmark_version, libraries, count, job, log_mean, mean), 0)), 0),
           (SELECT bit_xor(hashtextextended(failed::text, 0)) FROM ({_FAILED}) AS failed)
    FROM dashboard_buildlevel
    WHERE machine_id = %(machine)s AND build_id = ANY(%(builds)s) AND metric = ANY(%(metrics)s)
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class SideSource:
    """What sides are made of, by ids; None: any. comparison, bisection: only what was measured for
    it.
    """

    machine: int
    track: int | None = None
    config: int | None = None
    benchmark: int | None = None
    comparison: int | None = None
    bisection: int | None = None

    @property
    def is_any(self) -> bool:
        """Whether any run of a build counts."""
        return self.comparison is None and self.bisection is None


def sides(wanted: Sequence[tuple[SideSource, int]], metrics: Iterable[str]) -> list[Side]:
    """What was measured of each (source, build). Four queries where both sources are the same."""
    builds: dict[SideSource, list[int]] = {}
    for source, build in wanted:
        builds.setdefault(source, []).append(build)
    read, case = [*metrics], _cases()
    found = {source: _read(source, ids, read, case) for source, ids in builds.items()}
    return [found[source][build] for source, build in wanted]


def data_fingerprint(wanted: Sequence[tuple[SideSource, int]], metrics: Iterable[str]) -> str:
    """What these builds' data of any runs are now, in a few characters. One query where both
    sources are the same.
    """
    builds: dict[SideSource, list[int]] = {}
    for source, build in wanted:
        builds.setdefault(source, []).append(build)
    told, read = [], [*metrics]
    with connection.cursor() as cursor:
        for source, ids in builds.items():
            cursor.execute(_STAMP, _given(source) | {"builds": ids, "metrics": read})
            told.append(cursor.fetchone())
    return str(told)


def _given(source: SideSource) -> dict[str, Any]:
    return {name: getattr(source, name) for name in SideSource.__slots__}


def by_build(
    source: SideSource, builds: Iterable[int], metrics: Iterable[str]
) -> dict[int, dict[Key, CaseMeasurements]]:
    """What was measured of each of these builds, and how its failures ended. Four queries."""
    return _read(source, builds, metrics, _cases())


def _read(
    source: SideSource,
    builds: Iterable[int],
    metrics: Iterable[str],
    case: Callable[[int, int], ComparedCase],
) -> dict[int, dict[Key, CaseMeasurements]]:
    found: dict[int, dict[tuple[int, int], CaseMeasurements]] = {build: {} for build in builds}
    given = _given(source) | {"builds": [*found], "metrics": [*metrics, GPU_UTILIZATION]}

    def measured(build: int, benchmark: int, config: int) -> CaseMeasurements:
        if (benchmark, config) not in found[build]:
            found[build][benchmark, config] = CaseMeasurements(case(benchmark, config))
        return found[build][benchmark, config]

    with connection.cursor() as cursor:
        cursor.execute(_LEVELS if source.is_any else _MEASURED, given)
        for build, benchmark, config, metric, *part in cursor.fetchall():
            _add(measured(build, benchmark, config).samples.setdefault(metric, []), _part(*part))
        cursor.execute(_FAILED, given)
        for build, benchmark, config, status, count in cursor.fetchall():
            measured(build, benchmark, config).failures[status] = count
    return {
        build: {Key(one.case.benchmark, one.case.config): one for one in cases.values()}
        for build, cases in found.items()
    }


def _cases() -> Callable[[int, int], ComparedCase]:
    """(benchmark, config) by id -> the case, placed in registry order."""
    benchmarks = {
        row[0]: row[1:]
        for row in Benchmark.objects.values_list("pk", "name", "model", "family", "mode")
    }
    place = {pk: number for number, pk in enumerate(benchmarks)}
    configs = {
        pk: (name, number)
        for number, (pk, name) in enumerate(Config.objects.values_list("pk", "name"))
    }

    def case(benchmark: int, config: int) -> ComparedCase:
        name, model, family, mode = benchmarks[benchmark]
        return ComparedCase(
            name, configs[config][0], model, family, mode, (place[benchmark], configs[config][1])
        )

    return case


def _add(parts: list[CaseSamples], one: CaseSamples) -> None:
    """One part for each version and library set, of all devices."""
    for place, other in enumerate(parts):
        if (other.version, other.libraries) == (one.version, one.libraries):
            parts[place] = pool_samples([other, one])
            return
    parts.append(one)


def _part(  # noqa: PLR0913, PLR0917 - the columns of both statements
    version: int,
    libraries: str,
    device: str,
    n: int,
    mean: float | None,
    m2: float | None,
    within: float | None,
    least: float,
    most: float,
    plain: float,
    job: str,
) -> CaseSamples:
    level = None
    if mean is not None and m2 is not None:
        block = DeviceGroup(device, n, mean, max(m2, 0.0))
        level = Level(*block[1:], math.nan if within is None else within, (block,))
    return CaseSamples(version, _libraries(libraries), level, n, least, most, plain, job)


@cache
def _libraries(names: str) -> Libraries:
    """As ``BuildLevel.libraries`` tells them: "diffusers 0.42.1, transformers 5.17.0"."""
    split = (name.partition(" ") for name in names.split(", ") if name)
    return tuple((library, version) for library, _, version in split)


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """A build that was measured on a machine for a track. base: of a variant the build that it
    varies. at: when that was last asked for.
    """

    build: int
    label: str
    base: int | None
    version: str
    git_sha: str
    released_on: date | None
    machine: int
    machine_key: str
    track: int
    track_key: str
    at: datetime


def measured_builds() -> list[MeasuredBuild]:
    """Every build × machine × track that has runs which began, the newest first. One query."""
    began = Run.objects.exclude(state__in=[RunState.PLANNED, RunState.QUEUED])
    build = (
        "build",
        "build__label",
        "build__base",
        "build__version",
        "build__git_sha",
        "build__released_on",
    )
    rows = began.values_list(*build, "machine", "machine__key", "track", "track__key").annotate(
        at=Max("created_at")
    )
    return [MeasuredBuild(*row) for row in rows.order_by("-at")]


def default_machine(known: Sequence[MeasuredBuild]) -> str:
    """The machine that was measured last, of those that have two builds."""
    for measured in known:
        if len({other.build for other in known if other.machine == measured.machine}) > 1:
            return measured.machine_key
    return known[0].machine_key


def builds_by_version(
    known: Sequence[MeasuredBuild], machine: str, track: str
) -> list[MeasuredBuild]:
    """What was measured there, one for each build, the newest version first."""
    there = {
        measured.build: measured
        for measured in reversed(known)
        if measured.machine_key == machine and track in {"", measured.track_key}
    }
    return sorted(
        there.values(),
        key=lambda row: (version_order(row.version), row.at),
        reverse=True,
    )
