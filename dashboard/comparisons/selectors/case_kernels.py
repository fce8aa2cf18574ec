"""Which kernels account for a case's change: of each side one job, and what differs in its profile.

A side has many jobs and each has a profile. Compared are those whose device time is nearest the
median of their side, on the device of which both sides have most jobs, if they share one: two GPUs
of one kind differ, too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from dashboard.comparisons.core.libraries import agree, parse_libraries
from dashboard.comparisons.core.matching import ComparisonRow, Key
from dashboard.comparisons.core.metric_effects import CaseSamples
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import CaseKernels
from dashboard.comparisons.selectors.versions import MeasuredSide
from dashboard.results.core.kernel_profile import EXPLAINED_METRICS
from dashboard.results.core.kernel_words import sentence
from dashboard.results.core.level_sql import COUNTED
from dashboard.results.selectors.kernels import diffs_of, profiles_of

MOST_SENTENCES = 40  # each reads two profiles
_METRICS = ("latency_ms", "device_ms")  # of a report, those that kernels can explain
_DEVICE_TIMES = f"""
    SELECT benchmark.name, config.name, job.uuid, datum.value, job.planned_at,
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
    WHERE run.build_id = %(build)s AND run.machine_id = %(machine)s
          AND (%(track)s::bigint IS NULL OR run.track_id = %(track)s)
          AND (%(comparison)s::bigint IS NULL OR run.comparison_id = %(comparison)s)
          AND (%(config)s::bigint IS NULL OR job.config_id = %(config)s)
          AND benchmark.name = ANY(%(benchmarks)s) AND series.metric = 'device_ms' AND {COUNTED}
"""  # noqa: S608 - made of constants


class DeviceTime(NamedTuple):
    """What one job measured. ms: of a step."""

    job: UUID
    ms: float
    planned_at: datetime
    version: int
    libraries: str
    device: str


@dataclass(frozen=True, slots=True)
class CaseJobs:
    """The jobs of one case whose kernels are compared."""

    base: UUID
    new: UUID


def _jobs_of_cases(
    rows: Iterable[ComparisonRow], base: MeasuredSide, new: MeasuredSide
) -> dict[Key, CaseJobs]:
    """The jobs of those cases that changed, in a metric which kernels can explain. Two queries."""
    changed = [row for row in rows if _is_explained(row)]
    if not changed:
        return {}
    bases = _times_of_cases(base, {row.case.key: row.effect.base for row in changed})
    news = _times_of_cases(new, {row.case.key: row.effect.new for row in changed})
    jobs = {}
    for key in bases:
        if key in news:
            device = _shared_device(bases[key], news[key])
            sides = (_nearest_median(times, device) for times in (bases[key], news[key]))
            jobs[key] = CaseJobs(*sides)
    return jobs


def _shared_device(base: Sequence[DeviceTime], new: Sequence[DeviceTime]) -> str | None:
    """The one of which the side that has fewer has most jobs; None where they share none."""
    counts = [Counter(time.device for time in times) for times in (base, new)]
    fewest = counts[0] & counts[1]
    return max(fewest, key=lambda device: (fewest[device], device), default=None)


def _is_explained(row: ComparisonRow) -> bool:
    return row.effect.is_changed and row.effect.metric.key in EXPLAINED_METRICS


def _times_of_cases(
    side: MeasuredSide, samples: Mapping[Key, CaseSamples]
) -> dict[Key, list[DeviceTime]]:
    """Of each case that has any."""
    times = _device_times(side, {key.benchmark for key in samples})
    is_one_config = side[0].config is not None  # then a case may be called after both sides'
    of_cases = {}
    for key, measured in samples.items():
        config = "" if is_one_config else key.config
        alike = [each for each in times[key.benchmark, config] if _is_of(each, measured)]
        if alike:
            of_cases[key] = alike
    return of_cases


def _nearest_median(times: Sequence[DeviceTime], device: str | None) -> UUID:
    """The job whose device time is nearest the median, of two the newer one.

    device: of which alone; None: of any.
    """
    times = [time for time in times if device in {None, time.device}]
    middle = median(time.ms for time in times)
    times.sort(key=lambda time: time.planned_at, reverse=True)
    return min(times, key=lambda time: abs(time.ms - middle)).job


def _is_of(time: DeviceTime, samples: CaseSamples) -> bool:
    """Whether it was measured under the same benchmark version and libraries."""
    same_libraries = agree(parse_libraries(time.libraries), samples.libraries)
    return time.version == samples.version and same_libraries


def _device_times(
    side: MeasuredSide, benchmarks: Iterable[str]
) -> dict[tuple[str, str], list[DeviceTime]]:
    """By benchmark and config; where the side is of one config, that is left empty."""
    source, build = side
    given: dict[str, Any] = {
        "build": build,
        "machine": source.machine,
        "track": source.track,
        "comparison": source.comparison,
        "config": source.config,
        "benchmarks": [*benchmarks],
    }
    times: dict[tuple[str, str], list[DeviceTime]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_DEVICE_TIMES, given)
        for benchmark, config, *columns in cursor.fetchall():
            name = config if source.config is None else ""
            times[benchmark, name].append(DeviceTime(*columns))
    return times


def sentences(report: UpgradeReport, base: MeasuredSide, new: MeasuredSide) -> list[CaseKernels]:
    """Which kernels account for the change of each case whose step or device time changed: what is
    significant first, at most MOST_SENTENCES cases. Three queries.
    """
    changed: dict[Key, ComparisonRow] = {}
    for metric in _METRICS:
        for row in report.tables[metric].rows:
            if row.effect.is_changed:
                changed.setdefault(row.case.key, row)
    rows = sorted(changed.values(), key=lambda row: not row.effect.is_significant)[:MOST_SENTENCES]

    jobs = _jobs_of_cases(rows, base, new)
    profiles = profiles_of({job for each in jobs.values() for job in (each.base, each.new)})
    kernels = []
    for row in rows:
        of_case = jobs.get(row.case.key)
        if of_case is None:
            continue
        diffs = diffs_of(profiles.get(of_case.base, {}), profiles.get(of_case.new, {}))
        if diffs:
            names = str(of_case.base), str(of_case.new)
            kernels.append(CaseKernels(row, *names, sentence(diffs[0])))
    return kernels
