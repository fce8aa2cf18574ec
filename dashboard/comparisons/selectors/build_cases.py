"""Every case as one build measured it at one place: from the rollup by build, and how the others
failed.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from dashboard.comparisons.selectors.measured_builds import MeasuredBuild, measured_builds
from dashboard.language.metrics import METRICS
from dashboard.results.core.level_sql import POOLED_VALUE, no_artefact
from dashboard.results.selectors.build_order import in_order
from dashboard.results.selectors.rollup import CaseRollup, Newest
from dashboard.ui.locations import SeriesLocation

_CASE = """benchmark.name, benchmark.family, benchmark.mode, benchmark.dtype, benchmark.size,
           config.name, config.position"""
# Of several benchmark versions the newest; of all devices, sessions and library sets.
_LEVELS = f"""
    SELECT DISTINCT ON (benchmark.position, benchmark.name, config.position, config.name,
                        level.metric)
           {_CASE}, level.benchmark_version, level.metric, level.value, level.job
    FROM (
        SELECT benchmark_id, config_id, metric, benchmark_version, max(job::text) AS job,
               {POOLED_VALUE} AS value
        FROM dashboard_buildlevel AS measured
        WHERE machine_id = %(machine)s AND build_id = %(build)s AND track_id = %(track)s
              AND metric = ANY(%(metrics)s)
              AND {no_artefact("metric", "machine_id", "benchmark_id")}
        GROUP BY benchmark_id, config_id, metric, benchmark_version
    ) AS level
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = level.benchmark_id
    JOIN dashboard_config AS config ON config.id = level.config_id
    ORDER BY benchmark.position, benchmark.name, config.position, config.name, level.metric,
             level.benchmark_version DESC
"""  # noqa: S608 - made of constants
_FAILED = f"""
    SELECT DISTINCT ON (benchmark.position, benchmark.name, config.position, config.name)
           {_CASE}, coalesce(result.benchmark_version, benchmark.version), job.status,
           job.uuid::text
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = job.benchmark_id
    JOIN dashboard_config AS config ON config.id = job.config_id
    LEFT JOIN dashboard_result AS result ON result.job_id = job.uuid
    WHERE run.build_id = %(build)s AND run.machine_id = %(machine)s AND run.track_id = %(track)s
          AND job.status NOT IN ('', 'pass')
    ORDER BY benchmark.position, benchmark.name, config.position, config.name, job.planned_at DESC
"""  # noqa: S608 - made of constants


def read(place: SeriesLocation, build: MeasuredBuild, metrics: Iterable[str]) -> list[CaseRollup]:
    """The cases of a build with its levels of ``metrics``; what only failed with its status word.
    Two queries.
    """
    given: dict[str, Any] = {
        "machine": place.machine.pk,
        "track": place.track.pk,
        "build": build.build,
        "metrics": [*metrics],
    }
    cases: dict[tuple[str, str], CaseRollup] = {}
    with connection.cursor() as cursor:
        cursor.execute(_LEVELS, given)
        for *named, version, metric, value, job in cursor.fetchall():
            case = _case(cases, named)
            newest = Newest(value, None, None, None, "pass", job, None, build.label)
            case.add(metric, newest, version)
            case.latest = case.newest.get(metric, case.latest)
        cursor.execute(_FAILED, given)
        for *named, version, status, job in cursor.fetchall():
            case = _case(cases, named)
            if case.latest is None:
                case.version = version
                case.latest = Newest(None, None, None, None, status, job, None, build.label)
    return list(cases.values())


def _case(cases: dict[tuple[str, str], CaseRollup], named: Sequence[Any]) -> CaseRollup:
    benchmark, family, mode, dtype, size, config, position = named
    new = CaseRollup(benchmark, family, mode, dtype, size, config, position)
    return cases.setdefault((benchmark, config), new)


def builds(place: SeriesLocation) -> list[MeasuredBuild]:
    """List the builds that were measured at the place, the newest first. Two queries."""
    where = place.machine.pk, place.track.pk
    here = {}
    for tested in measured_builds():
        if (tested.machine, tested.track) == where:
            here[tested.build] = tested
    ordered = in_order([(place.track.pk, build) for build in here])
    return [here[each.build] for each in reversed(ordered)]


# A place has thousands of series. The LIMIT has Postgres look up metric by metric, each by the
# index: of WHERE EXISTS it makes a join with all of them.
_METRICS = f"""
    SELECT named.metric FROM unnest(%(metrics)s::text[]) AS named (metric)
    CROSS JOIN LATERAL (
        SELECT FROM dashboard_series AS series
        WHERE series.machine_id = %(machine)s AND series.track_id = %(track)s
              AND series.metric = named.metric
              AND {no_artefact("named.metric", "series.machine_id", "series.benchmark_id")}
        LIMIT 1
    ) AS measured
"""  # noqa: S608 - made of constants


def metrics(place: SeriesLocation) -> set[str]:
    """The metrics that were measured at the place. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            _METRICS, {"machine": place.machine.pk, "track": place.track.pk, "metrics": [*METRICS]}
        )
        return {metric for (metric,) in cursor.fetchall()}
