"""Imports result files of machines without a network, and other tools' files.

They become the same rows as over HTTP. A document is identified by its digest, from which its job's
id follows: importing it again changes nothing.
"""

import hashlib
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import orjson
from django.conf import settings
from django.db import DataError, connection, transaction
from django.utils import timezone

from dashboard.catalog.core.plan import FIELD_FAMILIES
from dashboard.language.contracts import Refused
from dashboard.language.moments import stamp
from dashboard.models import Benchmark, Job, JobState, Run
from dashboard.results.core.result_format import parse_result
from dashboard.results.core.untrusted import unpack
from dashboard.results.formats import (
    NO_HINTS,
    EarlierBenchmark,
    Hints,
    ImportedNames,
    ParsedFile,
    parse_file,
)
from dashboard.results.services import detection_queue
from dashboard.results.services.artifacts import store_imported_artifact
from dashboard.results.services.import_existing import (
    CheckedImport,
    ImportReport,
    ImportSource,
    leave_out_existing,
    leave_out_repeats,
)
from dashboard.results.services.import_rows import ImportCatalog, ImportRuns
from dashboard.results.services.store import JobResult, store_results
from dashboard.runs.services.partitions import ensure_partitions

BATCH = 1000  # results in one transaction
NAMESPACE = uuid.UUID("6d0f4b1e-4f0c-4c39-9a0c-5a7f2f9f6a11")  # of the ids of imported jobs


def import_results(
    *,
    sources: Iterable[ImportSource],
    machine: str = "",
    track: str = "import",
    label: str = "",
    dry_run: bool = False,
    hints: Hints = NO_HINTS,
) -> ImportReport:
    """Import files. Benchmarks, configs, builds and machines that are new get their rows.

    machine: key of the machine, else derived from the GPU's or CPU's name in each result.
    hints: what files of other tools do not say. dry_run: only report.
    """
    report = ImportReport()
    runs = ImportRuns(machine, track, label or f"Import of {stamp(timezone.now())}")
    hints = replace(hints, machine=machine)
    try:
        checked = read_sources(sources, hints, imported_names(), report)
        add_all(checked, runs, report, dry_run=dry_run)
    finally:
        # What has been added is judged, even if the rest could not be read; only then, because half
        # of a history shows changes that the whole does not.
        detection_queue.enqueue(series_ids=report.series)
    return report


def imported_names() -> ImportedNames:
    earlier = {
        benchmark.name: EarlierBenchmark(benchmark.original, benchmark.imported_configs)
        for benchmark in Benchmark.objects.filter(imported=True)
    }
    of_field = Benchmark.objects.filter(family__startswith=FIELD_FAMILIES, imported=False)
    return ImportedNames(earlier, frozenset(of_field.values_list("family", "model")))


def add_all(
    results: Iterator[CheckedImport], runs: ImportRuns, report: ImportReport, *, dry_run: bool
) -> None:
    """Add the results that are new, batch by batch; dry_run: count them."""
    while batch := list(islice(results, BATCH)):
        is_first = not report.added
        new = leave_out_existing(leave_out_repeats(batch, report), runs.place, report)
        report.added += len(new)
        if dry_run:
            continue
        if new:
            add_storable(new, runs, report)
            if is_first:
                analyze_tables()
        add_artifacts(batch, report)


def analyze_tables() -> None:
    """Have Postgres count the rows now.

    Until it does so by itself it takes tables that were just filled for empty ones, and then needs
    30 times as long for the rollups of the batches that follow.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dashboard_series, dashboard_datum")


def add_storable(imports: Sequence[CheckedImport], runs: ImportRuns, report: ImportReport) -> None:
    """Add a batch; where a number in it is beyond a column's range, add the others one by one."""
    try:
        report.series.update(add(imports, runs))
    except DataError as error:
        runs.clear()  # those made in the transaction that failed
        if len(imports) == 1:
            report.added -= 1
            report.refused.append((imports[0].source, f"it cannot be stored: {error}"))
            return
        for single in imports:
            add_storable([single], runs, report)


def add_artifacts(imports: Iterable[CheckedImport], report: ImportReport) -> None:
    """Keep what the jobs left beside their results, also where an earlier import was interrupted
    before it did. A job that a worker delivered has brought its own.
    """
    artifacts = {each.job_id: each.artifacts for each in imports if each.artifacts}
    for job in Job.objects.filter(pk__in=artifacts):
        for path in artifacts[job.pk]:
            try:
                store_imported_artifact(job=job, name=path.name, content=path.read_bytes())
            except (Refused, OSError) as error:
                report.refused.append((str(path), str(error)))
            else:
                report.artifacts += 1


def read_sources(
    sources: Iterable[ImportSource], hints: Hints, names: ImportedNames, report: ImportReport
) -> Iterator[CheckedImport]:
    """The results of the files that keep the contract; the others are reported."""
    for source in sources:
        try:
            body = unpack(source.body, settings.RESULT_LIMIT_BYTES)
            file = parse_file(source.name, body, hints, names)
        except Refused as error:
            report.refused.append((source.name, str(error)))
            continue
        report.refused += [(refusal.where, refusal.why) for refusal in file.refused]
        report.left_out += file.left_out
        yield from check_documents(file, source.artifacts, report)


def check_documents(
    file: ParsedFile, artifacts: Sequence[Path], report: ImportReport
) -> Iterator[CheckedImport]:
    for where, document in file.documents:
        try:
            result = parse_result(document)
        except Refused as error:
            report.refused.append((where, str(error)))
            continue
        report.read[file.format] += 1
        digest = hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
        yield CheckedImport(where, digest, uuid.uuid5(NAMESPACE, digest), result, artifacts)


def add(imports: Sequence[CheckedImport], runs: ImportRuns) -> Collection[int]:
    """One batch: its jobs, finished, and what they brought; the ids of the series."""
    ensure_partitions(moments={each.result.planned_at for each in imports})
    with transaction.atomic():
        results = [each.result for each in imports]
        catalog = ImportCatalog(results)
        runs.sessions.add(results)
        jobs = [make_job(each, runs.run_of(each.result), catalog) for each in imports]
        Job.objects.bulk_create(jobs)
        runs.date(jobs)
        job_results = []
        for job, imported in zip(jobs, imports, strict=True):
            job_results.append(JobResult(job, imported.digest, job.status, None, imported.result))
        return store_results(job_results)


def make_job(imported: CheckedImport, run: Run, catalog: ImportCatalog) -> Job:
    result = imported.result
    return Job(
        uuid=imported.job_id,
        run=run,
        benchmark=catalog.benchmarks[result.benchmark["name"]],
        config=catalog.configs[result.job["config"]],
        spec=dict(result.job),
        state=JobState.DONE,
        status=result.status,
        message=result.message,
        planned_at=result.planned_at,
        claimed_at=result.started_at,
        finished_at=result.finished_at,
    )
