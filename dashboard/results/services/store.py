"""Writes checked results into the tables: environments, documents, samples, series, data, rollups.

Everything is done for many results at once, by statements over arrays, because an import brings
thousands. The caller holds the jobs' rows locked, has made the partitions, and calls this in a
transaction.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import connection
from django.utils import timezone

from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.models import Environment, Job, Purpose, Result, Samples, Status
from dashboard.results.core.result_format import (
    ArmSamples,
    Measurement,
    ProcessOutcome,
    ResultDocument,
    pack_samples,
)
from dashboard.results.services import detection_queue, levels, newest, own_revisions
from dashboard.results.services.copying import copy_rows
from dashboard.results.services.store_sql import ADD_SERIES, DELETE_DATA, FIND_SERIES, ROLL_UP

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
Row = tuple[Any, ...]  # of a table


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job (with its run) that has ended, and what it brought. `status` is its status word."""

    job: Job
    digest: str
    status: str
    outcome: ProcessOutcome | None
    result: ResultDocument | None


class SeriesKey(NamedTuple):
    """Fields that identify a series."""

    benchmark: int
    config: int
    machine: int
    track: int
    metric: str


class DatumValue(NamedTuple):
    """One value for a series; value: None where the case failed."""

    series: SeriesKey
    value: float | None
    low: float | None
    high: float | None
    samples: int  # that it was made from


def store_results(job_results: Sequence[JobResult]) -> Collection[int]:
    """Write what the jobs brought, in place of what earlier attempts did; ids of changed series.

    1. Delete what earlier attempts brought.
    2. Write environments, documents and samples; number the revisions of own models.
    3. Find or make the series, and lock them in one order: no transaction waits for another.
    4. Write the data.
    5. Bring the rollups of every touched series up to date: last datum, levels, newest build.
    6. Put the series on the detection queue.
    """
    # 1. Earlier attempts
    deleted = delete_earlier([job_result.job.pk for job_result in job_results])

    # 2. Environments, documents, samples
    environments = environment_ids(job_result.result for job_result in job_results)
    versions = own_revisions.benchmark_versions(
        (each.job, each.result.benchmark if each.result else None) for each in job_results
    )
    write_documents(job_results, environments, versions)
    write_samples(job_results)

    # 3. Series
    values = [datum_values(job_result) for job_result in job_results]
    ids = series_ids({value.series for value in chain.from_iterable(values)})

    # 4. Data
    rows: list[Row] = []
    measured = set()
    for each, job_values in zip(job_results, values, strict=True):
        build, version = each.job.run.build_id, versions[each.job.pk]
        rows += datum_rows(each, job_values, ids, environments, version)
        measured |= {(ids[value.series], build, version) for value in job_values}
    copy_rows("dashboard_datum", DATUM_COLUMNS, rows)

    # 5., 6. Rollups of the series, and the detection queue
    growth = Counter(series for series, *_ in rows)
    growth.subtract(deleted)
    roll_up(growth)
    update_levels(job_results, series=growth, anything_deleted=bool(deleted))
    if deleted:
        newest.roll_up(series=growth)
    else:
        newest.add(measured)
    enqueue_detection(job_results, growth)
    return growth.keys()


def enqueue_detection(job_results: Sequence[JobResult], series: Collection[int]) -> None:
    """Scheduled results are judged, and of those by hand whether they passed.

    Imports are judged once they are complete (imports.py).
    """
    purposes = {job_result.job.run.purpose for job_result in job_results}
    if Purpose.SCHEDULED in purposes:
        detection_queue.enqueue(series_ids=series)
    elif purposes != {Purpose.IMPORT}:
        detection_queue.enqueue(series_ids=series, metrics=[STATUS_METRIC])


def delete_earlier(job_ids: Sequence[UUID]) -> Counter[int]:
    """Delete what these jobs brought before; how many data each series has lost."""
    earlier = list(Result.objects.filter(pk__in=job_ids).values_list("pk", flat=True))
    if not earlier:
        return Counter()
    Samples.objects.filter(job__in=earlier).delete()
    Result.objects.filter(pk__in=earlier).delete()
    with connection.cursor() as cursor:
        cursor.execute(DELETE_DATA, [earlier])
        return Counter(series for (series,) in cursor.fetchall())


def environment_ids(results: Iterable[ResultDocument | None]) -> dict[str, int]:
    """Fingerprint -> id of its row, made where it is new."""
    documents = {}
    for result in results:
        if result is not None:
            documents[result.environment["fingerprint"]] = result.environment

    existing = Environment.objects.filter(fingerprint__in=documents)
    ids = dict(existing.values_list("fingerprint", "pk"))
    new = documents.keys() - ids.keys()
    if not new:
        return ids
    rows = [Environment(fingerprint=key, document=documents[key]) for key in sorted(new)]
    Environment.objects.bulk_create(rows, ignore_conflicts=True)
    return dict(existing.all().values_list("fingerprint", "pk"))


def write_documents(
    job_results: Iterable[JobResult],
    environments: Mapping[str, int],
    versions: Mapping[UUID, int],
) -> None:
    now = timezone.now()
    rows = []
    for job_result in job_results:
        rows.append(result_row(job_result, environments, versions[job_result.job.pk], now))
    copy_rows("dashboard_result", RESULT_COLUMNS, rows)


def result_row(
    job_result: JobResult, environments: Mapping[str, int], version: int, now: datetime
) -> Row:
    """In the order of RESULT_COLUMNS."""
    result = job_result.result
    if result is None:
        outcome = job_result.outcome.document if job_result.outcome else {}
        document: Mapping[str, Any] = {"outcome": outcome}
        environment, device, suite_version = None, "", ""
    else:
        document = result.document
        environment = environments[result.environment["fingerprint"]]
        device, suite_version = result.device, result.suite_version

    return (
        job_result.job.pk,
        job_result.job.attempt,
        job_result.status,
        orjson.dumps(document).decode(),
        job_result.digest,
        environment,
        device,
        suite_version,
        version,
        now,
    )


def write_samples(job_results: Iterable[JobResult]) -> None:
    rows: list[Row] = []
    for job_result in job_results:
        if job_result.result is not None:
            rows += [sample_row(job_result.job, arm) for arm in job_result.result.arms]
    copy_rows("dashboard_samples", SAMPLES_COLUMNS, rows)


def sample_row(job: Job, arm: ArmSamples) -> Row:
    """In the order of SAMPLES_COLUMNS."""
    return (
        job.pk,
        arm.name,
        arm.unit,
        arm.inner,
        len(arm.values),
        pack_samples(arm.values),
        None if arm.cpu_ms is None else pack_samples(arm.cpu_ms),
        None if arm.order is None else pack_samples(arm.order),
        job.planned_at,
    )


def datum_values(job_result: JobResult) -> list[DatumValue]:
    """The values of one job: every metric of metrics.py, whether it passed, and that it failed.

    `passed` goes by the status alone: 1 for a job that ran and did not fail, also where its
    accuracy was not judged and the document has no `passed`. It is left out for `unsupported`: the
    case neither passed nor failed. Metrics that
    metrics.py does not have (of a newer suite) stay in the stored document only.
    """
    metrics = dict(job_result.result.metrics) if job_result.result else {}
    if job_result.status == Status.UNSUPPORTED:
        metrics.pop("passed", None)
    else:
        metrics["passed"] = Measurement(float(job_result.status == Status.PASS), None, None, 1)

    job = job_result.job
    case = job.benchmark_id, job.config_id, job.run.machine_id, job.run.track_id
    values = []
    for key, metric in metrics.items():
        if key in METRICS:
            series = SeriesKey(*case, key)
            values.append(DatumValue(series, metric.value, metric.low, metric.high, metric.count))
    if job_result.status != Status.PASS and FAILED_LATENCY not in metrics:
        values.append(DatumValue(SeriesKey(*case, FAILED_LATENCY), None, None, None, 0))
    return values


def series_ids(keys: set[SeriesKey]) -> dict[SeriesKey, int]:
    """The ids of these series, made where they are new; their rows are locked."""
    existing = find_series(keys)
    missing = sorted(keys - existing.keys())
    if not missing:
        return existing
    with connection.cursor() as cursor:
        cursor.execute(ADD_SERIES, columns_of(missing))
    return find_series(keys)


def find_series(keys: set[SeriesKey]) -> dict[SeriesKey, int]:
    cases = {key[:-1] for key in keys}
    metrics = {key.metric for key in keys}
    with connection.cursor() as cursor:
        cursor.execute(FIND_SERIES, [*columns_of(cases), list(metrics)])
        return {SeriesKey(*key): pk for pk, *key in cursor.fetchall()}


def columns_of(rows: Iterable[Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def datum_rows(
    job_result: JobResult,
    values: Iterable[DatumValue],
    ids: Mapping[SeriesKey, int],
    environments: Mapping[str, int],
    version: int,
) -> Iterator[Row]:
    """In the order of DATUM_COLUMNS."""
    job, result = job_result.job, job_result.result
    environment = None
    if result is not None:
        environment = environments[result.environment["fingerprint"]]
    for value in values:
        yield (
            ids[value.series],
            job.planned_at,
            job.pk,
            job.run.build_id,
            environment,
            job.run.purpose,
            job_result.status,
            version,
            value.value,
            value.low,
            value.high,
            value.samples,
        )


def roll_up(growth: Counter[int]) -> None:
    """Bring the series' last data up to date; `growth` is by how many data each has grown."""
    ids = sorted(growth)
    with connection.cursor() as cursor:
        cursor.execute(ROLL_UP, [ids, [growth[pk] for pk in ids]])


def update_levels(
    job_results: Iterable[JobResult], *, series: Iterable[int], anything_deleted: bool
) -> None:
    """New data are merged into the levels; after a deletion the levels are made again."""
    jobs = [job_result.job for job_result in job_results]
    if anything_deleted:
        levels.roll_up(series=series, builds={job.run.build_id for job in jobs})
    else:
        levels.add(jobs=[(job.pk, job.planned_at) for job in jobs])
