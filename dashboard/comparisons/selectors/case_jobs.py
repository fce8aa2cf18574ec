"""Choice of the two jobs that stand for the two sides of a case, each of which has many.

Of each side it is one whose value is near the side's median, and both are off it the same way, so
that their difference is near that of the medians: of two processes both are equally near. They are
of the device of which both sides have most jobs, if they share one: two GPUs of one kind differ.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.libraries import agree, parse_libraries
from dashboard.comparisons.core.matching import Key
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.level_sql import COUNTED

_VALUES = f"""
    SELECT run.build_id, benchmark.name, config.name, job.uuid, datum.value, job.planned_at,
           datum.benchmark_version, coalesce(environment.libraries, ''),
           coalesce(result.device, '')
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
    JOIN dashboard_benchmark AS benchmark ON benchmark.id = job.benchmark_id
    JOIN dashboard_config AS config ON config.id = job.config_id
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    JOIN dashboard_series AS series ON series.id = datum.series_id
    LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
    LEFT JOIN dashboard_result AS result ON result.job_id = job.uuid
    WHERE run.build_id = ANY(%(builds)s) AND run.machine_id = %(machine)s
          AND (%(track)s::bigint IS NULL OR run.track_id = %(track)s)
          AND (%(comparison)s::bigint IS NULL OR run.comparison_id = %(comparison)s)
          AND (%(config)s::bigint IS NULL OR job.config_id = %(config)s)
          AND benchmark.name = ANY(%(benchmarks)s) AND series.metric = %(metric)s AND {COUNTED}
"""  # noqa: S608 - made of constants


_CANDIDATES = 8  # of a side, to be one of the two


class JobValue(NamedTuple):
    """Value that one job measured in the requested metric."""

    job: UUID
    value: float
    planned_at: datetime
    version: int
    libraries: str
    device: str


SideValues = dict[tuple[str, str], list[JobValue]]
"""By benchmark and config; where the side is of one config, that is left empty."""


@dataclass(frozen=True, slots=True)
class CaseJobs:
    """Two jobs of a case, one of each side."""

    base: UUID
    new: UUID


def jobs_of_cases(
    rows: Iterable[ComparisonRow], base: MeasuredSide, new: MeasuredSide, metric: str
) -> dict[Key, CaseJobs]:
    """The two jobs of each of these cases that has any, by what they measured in `metric`, which
    need not be the rows' own. One query where the sides are two builds of one source, else two.
    """
    listed = list(rows)
    if not listed:
        return {}
    values = _values((base, new), {row.case.benchmark for row in listed}, metric)
    bases = _of_cases(values[base], base, {row.case.key: row.base for row in listed})
    news = _of_cases(values[new], new, {row.case.key: row.new for row in listed})
    jobs = {}
    for key in bases:
        if key in news:
            device = _shared_device(bases[key], news[key])
            pair = _nearest_medians(_on_device(bases[key], device), _on_device(news[key], device))
            jobs[key] = CaseJobs(*pair)
    return jobs


def _shared_device(base: Sequence[JobValue], new: Sequence[JobValue]) -> str | None:
    """The one of which the side that has fewer jobs has most; None where they share none."""
    fewest = Counter(each.device for each in base) & Counter(each.device for each in new)
    return max(fewest, key=lambda device: (fewest[device], device), default=None)


def _of_cases(
    values: SideValues, side: MeasuredSide, samples: Mapping[Key, CaseSamples]
) -> dict[Key, list[JobValue]]:
    """The values of each case that has any, of the same software as its samples."""
    is_one_config = side[0].config is not None  # then a case may be called after both sides'
    of_cases = {}
    for key, measured in samples.items():
        config = "" if is_one_config else key.config
        of_case = values.get((key.benchmark, config), [])
        alike = [each for each in of_case if _is_of(each, measured)]
        if alike:
            of_cases[key] = alike
    return of_cases


def _on_device(values: Iterable[JobValue], device: str | None) -> list[JobValue]:
    """Newest first. device: None for any."""
    here = [each for each in values if device in {None, each.device}]
    return sorted(here, key=lambda each: each.planned_at, reverse=True)


def _nearest_medians(base: Sequence[JobValue], new: Sequence[JobValue]) -> tuple[UUID, UUID]:
    """Choose the pair that is least off: each job from its side's median, and their difference from
    that of the medians.
    """

    def off(pair: tuple[tuple[float, JobValue], tuple[float, JobValue]]) -> float:
        (of_base, _), (of_new, _) = pair
        return abs(of_base) + abs(of_new) + abs(of_new - of_base)

    (_, old), (_, fresh) = min(product(_off_median(base), _off_median(new)), key=off)
    return old.job, fresh.job


def _off_median(values: Sequence[JobValue]) -> list[tuple[float, JobValue]]:
    """The jobs that are nearest the median, with how far they are from it, as a share of it."""
    middle = median(each.value for each in values)
    off = [((each.value - middle) / (abs(middle) or 1.0), each) for each in values]
    return sorted(off, key=lambda each: abs(each[0]))[:_CANDIDATES]


def _is_of(value: JobValue, samples: CaseSamples) -> bool:
    """Test whether it was measured under the same benchmark version and libraries."""
    same_libraries = agree(parse_libraries(value.libraries), samples.libraries)
    return value.version == samples.version and same_libraries


def _values(
    sides: Sequence[MeasuredSide], benchmarks: Collection[str], metric: str
) -> dict[MeasuredSide, SideValues]:
    """Read what the jobs of each side measured. One query for each source."""
    of_sides: dict[MeasuredSide, SideValues] = {side: defaultdict(list) for side in sides}
    for source in {source for source, _ in sides}:
        given: dict[str, Any] = {
            "builds": [build for of, build in of_sides if of == source],
            "machine": source.machine,
            "track": source.track,
            "comparison": source.comparison,
            "config": source.config,
            "benchmarks": [*benchmarks],
            "metric": metric,
        }
        with connection.cursor() as cursor:
            cursor.execute(_VALUES, given)
            for build, benchmark, config, *columns in cursor.fetchall():
                name = config if source.config is None else ""
                of_sides[source, build][benchmark, name].append(JobValue(*columns))
    return of_sides
