"""Writes checked results into the tables: environments, documents, samples, series, data, rollups.

Everything is done for many results at once, by statements over arrays, because an import brings
thousands. The caller holds the jobs' rows locked, has made the partitions, and runs this in one
transaction.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection
from django.utils import timezone

from dashboard.language.metrics import METRICS
from dashboard.models import Environment, Job, Purpose, Result, Samples, Status
from dashboard.results.core.result_format import (
    Measurement,
    ProcessOutcome,
    ResultDocument,
    pack_samples,
)
from dashboard.results.services import days, detection_queue, levels
from dashboard.results.services.copying import copy_rows
from dashboard.results.services.store_sql import ADD_SERIES, FIND_SERIES, FORGET_DATA, ROLL_UP

RESULT_COLUMNS = (
    "job_id",
    "attempt",
    "status",
    "document",
    "digest",
    "environment_id",
    "device",
    "suite_version",
    "benchmark_version",
    "received_at",
)
SAMPLES_COLUMNS = (
    "job_id",
    "arm",
    "unit",
    "inner",
    "count",
    "values",
    "cpu_ms",
    "order",
    "planned_at",
)
DATUM_COLUMNS = (
    "series_id",
    "planned_at",
    "job_id",
    "build_id",
    "environment_id",
    "purpose",
    "status",
    "benchmark_version",
    "value",
    "low",
    "high",
    "count",
)
# The series in which a case that brought no number shows that it failed
FAILED_LATENCY = "latency_ms"


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job (with its run) that has ended, and what it brought. `status` is its status word."""

    job: Job
    digest: str
    status: str
    outcome: ProcessOutcome | None
    result: ResultDocument | None


class DatumValue(NamedTuple):
    """One value on its way into a series; value None where the case failed."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    samples: int  # that it was made from


class SeriesKey(NamedTuple):
    """What identifies a series."""

    benchmark: int
    config: int
    machine: int
    track: int
    metric: str


def store_results(landings: Sequence[JobResult]) -> None:
    """Write what the jobs brought, in place of what earlier attempts of them brought.

    1. Forget earlier attempts. 2. Environments, documents and samples. 3. Series, made where they
       are new, and locked
    in one order, so that two landings never wait for each other. 4. Data. 5. The rollups of every
    touched series.
    6. What detection has to look at. 7. The rollup by day, last: it lets one landing of a machine
       through at a time.
    """
    gone = delete_earlier([landing.job.pk for landing in landings])
    environments = environment_ids(landing.result for landing in landings)
    now = timezone.now()
    copy_rows(
        "dashboard_result",
        RESULT_COLUMNS,
        (result_row(landing, environments, now) for landing in landings),
    )
    copy_rows(
        "dashboard_samples",
        SAMPLES_COLUMNS,
        (row for landing in landings for row in sample_rows(landing)),
    )
    brought = [(landing, points_of(landing)) for landing in landings]
    ids = series_ids({key for landing, points in brought for key in series_keys(landing, points)})
    rows = [
        row for landing, points in brought for row in datum_rows(landing, points, ids, environments)
    ]
    copy_rows("dashboard_datum", DATUM_COLUMNS, rows)
    changes = Counter(row[0] for row in rows)
    changes.subtract(gone)
    roll_up(changes)
    if gone:
        levels.roll_up(series=changes, builds={landing.job.run.build_id for landing in landings})
    else:
        levels.add(jobs=[(landing.job.pk, landing.job.planned_at) for landing in landings])
    scheduled = any(landing.job.run.purpose == Purpose.SCHEDULED for landing in landings)
    detection_queue.enqueue(series_ids=changes if scheduled else ())
    first = min(landing.job.planned_at for landing in landings)
    of_cases = {key[:-1]: pk for key, pk in ids.items()}  # one series tells its case
    days.roll_up(series=of_cases.values(), since=first.astimezone(UTC).date())


def delete_earlier(job_ids: Sequence[UUID]) -> Counter[int]:
    """Delete what these jobs brought before; how many data each series has lost."""
    earlier = list(Result.objects.filter(pk__in=job_ids).values_list("pk", flat=True))
    if not earlier:
        return Counter()
    Samples.objects.filter(job__in=earlier).delete()
    Result.objects.filter(pk__in=earlier).delete()
    with connection.cursor() as cursor:
        cursor.execute(FORGET_DATA, [earlier])
        return Counter(series for (series,) in cursor.fetchall())


def environment_ids(results: Iterable[ResultDocument | None]) -> dict[str, int]:
    """Fingerprint -> id of its row, made where it is new."""
    documents = {r.environment["fingerprint"]: r.environment for r in results if r is not None}
    known = Environment.objects.filter(fingerprint__in=documents)
    new = documents.keys() - set(known.values_list("fingerprint", flat=True))
    rows = [Environment(fingerprint=one, document=documents[one]) for one in sorted(new)]
    Environment.objects.bulk_create(rows, ignore_conflicts=True)
    return dict(known.all().values_list("fingerprint", "pk"))


def result_row(landing: JobResult, environments: dict[str, int], now: datetime) -> tuple[Any, ...]:
    """In the order of RESULT_COLUMNS."""
    job, result, outcome = landing.job, landing.result, landing.outcome
    document = result.document if result else {"outcome": outcome.document if outcome else {}}
    environment = environments[result.environment["fingerprint"]] if result else None
    told = (
        (result.device, result.suite_version, result.benchmark["version"])
        if result
        else ("", "", 1)
    )
    text = orjson.dumps(document).decode()
    return job.pk, job.attempt, landing.status, text, landing.digest, environment, *told, now


def sample_rows(landing: JobResult) -> Iterator[tuple[Any, ...]]:
    """In the order of SAMPLES_COLUMNS."""
    for arm in landing.result.arms if landing.result else ():
        yield (
            landing.job.pk,
            arm.name,
            arm.unit,
            arm.inner,
            len(arm.values),
            pack_samples(arm.values),
            None if arm.cpu_ms is None else pack_samples(arm.cpu_ms),
            None if arm.order is None else pack_samples(arm.order),
            landing.job.planned_at,
        )


def points_of(landing: JobResult) -> list[DatumValue]:
    """The data of one job: every metric that metrics.py knows, whether it passed, and that it
    failed.

    `passed` is left out for `unsupported`: the case neither passed nor failed. Metrics that
        metrics.py does not
    know (of a newer suite) stay in the stored document only.
    """
    found = dict(landing.result.metrics) if landing.result else {}
    if landing.status == Status.UNSUPPORTED:
        found.pop("passed", None)
    else:
        found["passed"] = Measurement(float(landing.status == Status.PASS), None, None, 1)
    points = [
        DatumValue(key, m.value, m.low, m.high, m.count) for key, m in found.items() if key in METRICS
    ]
    if landing.status != Status.PASS and FAILED_LATENCY not in found:
        points.append(DatumValue(FAILED_LATENCY, None, None, None, 0))
    return points


def series_keys(landing: JobResult, points: Iterable[DatumValue]) -> Iterator[SeriesKey]:
    job = landing.job
    case = job.benchmark_id, job.config_id, job.run.machine_id, job.run.track_id
    return (SeriesKey(*case, point.metric) for point in points)


def series_ids(keys: set[SeriesKey]) -> dict[SeriesKey, int]:
    """The ids of these series, made where they are new; their rows are locked."""
    found = find_series(keys)
    if missing := sorted(keys - found.keys()):
        with connection.cursor() as cursor:
            cursor.execute(ADD_SERIES, columns_of(missing))
        found = find_series(keys)
    return found


def find_series(keys: set[SeriesKey]) -> dict[SeriesKey, int]:
    cases, metrics = {key[:-1] for key in keys}, {key.metric for key in keys}
    with connection.cursor() as cursor:
        cursor.execute(FIND_SERIES, [*columns_of(cases), list(metrics)])
        return {SeriesKey(*key): pk for pk, *key in cursor.fetchall()}


def columns_of(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def datum_rows(
    landing: JobResult,
    points: Sequence[DatumValue],
    ids: Mapping[SeriesKey, int],
    environments: Mapping[str, int],
) -> Iterator[tuple[Any, ...]]:
    """In the order of DATUM_COLUMNS."""
    job, result = landing.job, landing.result
    environment = environments[result.environment["fingerprint"]] if result else None
    version = result.benchmark["version"] if result else job.benchmark.version
    told = (
        job.planned_at,
        job.pk,
        job.run.build_id,
        environment,
        job.run.purpose,
        landing.status,
        version,
    )
    for key, point in zip(series_keys(landing, points), points, strict=True):
        yield ids[key], *told, point.value, point.low, point.high, point.samples


def roll_up(changes: Counter[int]) -> None:
    """Bring the series' rollups up to date; `changes` is by how many data each has grown."""
    ids = sorted(changes)
    with connection.cursor() as cursor:
        cursor.execute(ROLL_UP, [ids, [changes[pk] for pk in ids]])
