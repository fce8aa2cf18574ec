"""Measurements of one build on one machine, whatever tracks and runs they came from: the sides of a
comparison.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from dashboard.comparisons.core.case_samples import CaseSamples, ProcessValue, pool_samples
from dashboard.comparisons.core.levels import Block, BlockGroup, Level
from dashboard.comparisons.core.libraries import parse_libraries
from dashboard.comparisons.core.matching import (
    GPU_UTILIZATION,
    CaseMeasurements,
    ComparedCase,
    Key,
    Side,
)
from dashboard.judgement.pairs import ENOUGH_HISTORY
from dashboard.models import Benchmark, Config
from dashboard.results.core.level_sql import COUNTED, LEVEL, OF_PLACE, SESSION, no_artefact

# Any runs of a build: from the rollup, one range of one index.
_LEVELS = f"""
    SELECT build_id, benchmark_id, config_id, metric, benchmark_version, libraries, device,
           session, count, log_mean, log_m2, within, least, most, mean, job::text
    FROM dashboard_buildlevel
    WHERE machine_id = %(machine)s AND build_id = ANY(%(builds)s) AND metric = ANY(%(metrics)s)
          AND (%(track)s::bigint IS NULL OR track_id = %(track)s)
          AND (%(config)s::bigint IS NULL OR config_id = %(config)s)
          AND (%(benchmark)s::bigint IS NULL OR benchmark_id = %(benchmark)s)
          AND {no_artefact("metric", "machine_id", "benchmark_id")}
"""  # noqa: S608 - made of constants
# The runs of one comparison, which are few: to their jobs and the jobs' data, each by an
# index; planned_at keeps the data to their partitions. What the columns are, level_sql.py says.
_RUNS = """
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
"""
_WHERE = """
    WHERE run.build_id = ANY(%(builds)s) AND run.machine_id = %(machine)s
          AND (%(track)s::bigint IS NULL OR run.track_id = %(track)s)
          AND (%(comparison)s::bigint IS NULL OR run.comparison_id = %(comparison)s)
          AND (%(config)s::bigint IS NULL OR job.config_id = %(config)s)
          AND (%(benchmark)s::bigint IS NULL OR job.benchmark_id = %(benchmark)s)
"""
_MEASURED = f"""
    SELECT run.build_id, job.benchmark_id, job.config_id, series.metric, datum.benchmark_version,
           place.libraries, place.device, {SESSION}, {LEVEL}::text
    {_RUNS}
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    JOIN dashboard_series AS series ON series.id = datum.series_id
    {OF_PLACE}
    {_WHERE} AND series.metric = ANY(%(metrics)s) AND {COUNTED}
          AND {no_artefact("series.metric", "run.machine_id", "job.benchmark_id")}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
"""
# The processes of sessions, block by block: a page pairs them. An import has its day.
_PROCESSES = f"""
    SELECT run.build_id, job.benchmark_id, job.config_id, series.metric, datum.benchmark_version,
           place.libraries, place.device, {SESSION}, run.purpose <> 'import',
           array_agg(extract(epoch FROM datum.planned_at)::float8 ORDER BY datum.planned_at),
           array_agg(datum.value ORDER BY datum.planned_at)
    {_RUNS}
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    JOIN dashboard_series AS series ON series.id = datum.series_id
    {OF_PLACE}
    {_WHERE} AND (run.session <> '' OR run.purpose = 'import')
          AND series.metric = ANY(%(metrics)s) AND {COUNTED}
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
"""  # noqa: S608 - made of constants
# By how much processes of one build ever differed on the machine, and how many say so
_WIDEST = """
    SELECT benchmark_id, config_id, metric, ln(max(most / least))
    FROM (
        SELECT benchmark_id, config_id, metric, sum(count) AS processes, max(most) AS most,
               min(least) AS least
        FROM dashboard_buildlevel
        WHERE machine_id = %(machine)s AND metric = ANY(%(metrics)s) AND least > 0
              AND (%(benchmark)s::bigint IS NULL OR benchmark_id = %(benchmark)s)
        GROUP BY benchmark_id, config_id, metric, build_id, benchmark_version, libraries
    ) AS builds
    WHERE processes > 1
    GROUP BY 1, 2, 3
    HAVING sum(processes) >= %(history)s
"""
_FAILED = f"""
    SELECT run.build_id, job.benchmark_id, job.config_id, job.status, count(*),
           (array_agg(job.message ORDER BY job.planned_at DESC))[1]
    {_RUNS} {_WHERE} AND job.status NOT IN ('', 'pass') AND job.finished_at IS NOT NULL
    GROUP BY 1, 2, 3, 4
"""
# Equal for equal data: a stored result, an invalid point and a removed run all change it.
_FINGERPRINT = f"""
    SELECT count(*), coalesce(bit_xor(hashtextextended(
               concat_ws(' ', series_id, build_id, benchmark_version, libraries, session, count,
                         job, log_mean, mean), 0)), 0),
           (SELECT bit_xor(hashtextextended(failed::text, 0)) FROM ({_FAILED}) AS failed)
    FROM dashboard_buildlevel
    WHERE machine_id = %(machine)s AND build_id = ANY(%(builds)s) AND metric = ANY(%(metrics)s)
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class SideSource:
    """Source of sides, by ids; None: any. comparison: only what was measured for it."""

    machine: int
    track: int | None = None
    config: int | None = None
    benchmark: int | None = None
    comparison: int | None = None


MeasuredSide = tuple[SideSource, int]  # where it was measured, and the id of its build


def sides(sources: Sequence[MeasuredSide], metrics: Iterable[str]) -> list[Side]:
    """Read what was measured of each (source, build), with the processes to pair. Six queries where
    both sources are the same.
    """
    every_metric, case_of = [*metrics], _cases_by_id()
    by_source = {}
    for source, builds in _builds_by_source(sources).items():
        by_source[source] = _read(source, builds, every_metric, case_of, to_pair=True)
    return [by_source[source][build] for source, build in sources]


def data_fingerprint(sources: Sequence[MeasuredSide], metrics: Iterable[str]) -> str:
    """Fingerprint the data that these builds have now, of any runs, in a few characters. One query
    where both sources are the same.
    """
    rows, every_metric = [], [*metrics]
    with connection.cursor() as cursor:
        for source, builds in _builds_by_source(sources).items():
            cursor.execute(_FINGERPRINT, _sql_parameters(source, builds, every_metric))
            rows.append(cursor.fetchone())
    return str(rows)


def _builds_by_source(sources: Sequence[MeasuredSide]) -> dict[SideSource, list[int]]:
    builds: dict[SideSource, list[int]] = {}
    for source, build in sources:
        builds.setdefault(source, []).append(build)
    return builds


def _sql_parameters(
    source: SideSource, builds: Sequence[int], metrics: Sequence[str]
) -> dict[str, Any]:
    of_source = {name: getattr(source, name) for name in SideSource.__slots__}
    return {**of_source, "builds": builds, "metrics": metrics}


def by_build(
    source: SideSource, builds: Iterable[int], metrics: Iterable[str], *, to_pair: bool = False
) -> dict[int, dict[Key, CaseMeasurements]]:
    """Read what was measured of each of these builds, and how its failures ended. Four queries; two
    more where they are to be compared (`to_pair`).
    """
    return _read(source, builds, metrics, _cases_by_id(), to_pair=to_pair)


def _read(
    source: SideSource,
    builds: Iterable[int],
    metrics: Iterable[str],
    case_of: Callable[[int, int], ComparedCase],
    *,
    to_pair: bool,
) -> dict[int, dict[Key, CaseMeasurements]]:
    by_ids: dict[int, dict[tuple[int, int], CaseMeasurements]] = {build: {} for build in builds}
    given = _sql_parameters(source, [*by_ids], [*metrics, GPU_UTILIZATION])

    def measured(build: int, benchmark: int, config: int) -> CaseMeasurements:
        cases = by_ids[build]
        if (benchmark, config) not in cases:
            cases[benchmark, config] = CaseMeasurements(case_of(benchmark, config))
        return cases[benchmark, config]

    with connection.cursor() as cursor:
        cursor.execute(_LEVELS if source.comparison is None else _MEASURED, given)
        for row in cursor.fetchall():
            build, benchmark, config, metric, version, libraries, device, session, *columns = row
            samples = measured(build, benchmark, config).samples.setdefault(metric, [])
            block = Block(device, session)
            _add(samples, samples_of_block(version, libraries, block, *columns))
        if to_pair:
            _add_processes(cursor, by_ids, given)
        cursor.execute(_FAILED, given)
        for build, benchmark, config, status, count, message in cursor.fetchall():
            case = measured(build, benchmark, config)
            case.failures[status] = count
            case.messages[status] = message
    by_key = {}
    for build, cases in by_ids.items():
        by_key[build] = {each.case.key: each for each in cases.values()}
    return by_key


def _add_processes(
    cursor: CursorWrapper,
    by_ids: Mapping[int, Mapping[tuple[int, int], CaseMeasurements]],
    given: Mapping[str, Any],
) -> None:
    """Add what is needed to pair the cases, and by how much their processes ever differed."""
    cursor.execute(_PROCESSES, given)
    for build, benchmark, config, metric, version, libraries, *rest in cursor:
        device, session, is_planned, starts, values = rest
        if not session or (benchmark, config) not in by_ids[build]:
            continue  # to warm up only, or rolled up a moment later
        block = Block(device, session)
        processes = []
        for start, value in zip(starts, values, strict=True):
            processes.append(ProcessValue(block, start, value, is_planned))
        software = version, parse_libraries(libraries)
        samples = by_ids[build][benchmark, config].samples.get(metric, [])
        for at, each in enumerate(samples):
            if (each.version, each.libraries) == software:
                samples[at] = each._replace(processes=(*each.processes, *processes))
    cursor.execute(_WIDEST, {**given, "history": ENOUGH_HISTORY})
    for benchmark, config, metric, widest in cursor:
        for cases in by_ids.values():
            if (benchmark, config) in cases:
                cases[benchmark, config].widest[metric] = widest


def _cases_by_id() -> Callable[[int, int], ComparedCase]:
    """(benchmark, config) by id -> the case, placed in registry order."""
    benchmarks, configs = {}, {}
    fields = Benchmark.objects.values_list("pk", "name", "model", "family", "mode")
    for place, (pk, *names) in enumerate(fields):
        benchmarks[pk] = place, names
    for place, (pk, name) in enumerate(Config.objects.values_list("pk", "name")):
        configs[pk] = place, name

    def case_of(benchmark: int, config: int) -> ComparedCase:
        benchmark_place, (name, model, family, mode) = benchmarks[benchmark]
        config_place, config_name = configs[config]
        place = benchmark_place, config_place
        return ComparedCase(name, config_name, model, family, mode, place)

    return case_of


def _add(pools: list[CaseSamples], samples: CaseSamples) -> None:
    """One pool for each version and library set, of all blocks."""
    for place, pool in enumerate(pools):
        if (pool.version, pool.libraries) == (samples.version, samples.libraries):
            pools[place] = pool_samples([pool, samples])
            return
    pools.append(samples)


def samples_of_block(  # noqa: PLR0913, PLR0917 - the columns of both statements
    version: int,
    libraries: str,
    block: Block,
    n: int,
    log_mean: float | None,
    log_m2: float | None,
    within: float | None,
    least: float,
    most: float,
    mean: float,
    job: str,
) -> CaseSamples:
    """A row of BuildLevel as the samples that an effect is estimated of."""
    level = None
    if log_mean is not None and log_m2 is not None:
        group = BlockGroup(block, n, log_mean, max(log_m2, 0.0))
        error = math.nan if within is None else within
        level = Level(n, group.mean, group.m2, error, (group,))
    return CaseSamples(version, parse_libraries(libraries), level, n, least, most, mean, job)
