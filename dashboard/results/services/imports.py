"""Imports result files of machines without a network, and other tools' files.

They become the same rows as over HTTP. A document is identified by its digest, from which its job's
id follows: importing it again changes nothing.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import orjson
from django.conf import settings
from django.db import DataError, connection, transaction
from django.utils import timezone

from dashboard.catalog.core.hardware import Hardware, hardware, machine_key
from dashboard.catalog.core.plan import FIELD_FAMILIES
from dashboard.catalog.services.builds import settings_name, variant_label
from dashboard.catalog.services.machines import ensure_machine
from dashboard.catalog.services.suite_catalog import BENCHMARK_FIELDS
from dashboard.language.contracts import Refused
from dashboard.models import (
    Benchmark,
    Config,
    Job,
    JobState,
    Purpose,
    Result,
    Run,
    RunState,
    TorchBuild,
    Track,
)
from dashboard.results.core.result_format import ResultDocument, parse_result, unpack
from dashboard.results.formats import NO_HINTS, Hints, ParsedFile, parse_file
from dashboard.results.services import judged_imports
from dashboard.results.services.artifacts import store_imported_artifact
from dashboard.results.services.store import JobResult, store_results
from dashboard.runs.services.partitions import ensure_partitions

BATCH = 1000  # results in one transaction
NAMESPACE = uuid.UUID("6d0f4b1e-4f0c-4c39-9a0c-5a7f2f9f6a11")  # of the ids of imported jobs


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file as it came: where from, its bytes, gzip or plain, and the files its job left."""

    name: str
    body: bytes
    artifacts: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """A checked document and the id that its job has or would have."""

    source: str
    digest: str
    job_id: uuid.UUID
    result: ResultDocument
    artifacts: Sequence[Path]


@dataclass(slots=True)
class ImportReport:
    """What an import did: counts, and (source, reason) of what it refused.

    existing: results that were here already; read: results by format; left_out: metrics that the
    site does not have, how often. artifacts: files of jobs that are kept. series: ids of those that
    have changed. judged: how many of them detection will judge.
    """

    added: int = 0
    existing: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    read: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    artifacts: int = 0
    series: set[int] = field(default_factory=set)
    judged: int = 0


def import_results(
    *,
    sources: Iterable[ImportSource],
    machine: str = "",
    track: str = "import",
    label: str = "",
    dry_run: bool = False,
    judge: bool = False,
    hints: Hints = NO_HINTS,
) -> ImportReport:
    """Import files. Benchmarks, configs, builds and machines that are new get their rows.

    machine: key of the machine, else derived from the GPU's or CPU's name in each result.
    hints: what files of other tools do not say. dry_run: only report.
    judge: have detection judge the track from now on. Raises ActionNotAllowed where it cannot be.
    """
    if judge:
        judged_imports.require_judgeable(key=track)
    report = ImportReport()
    runs = ImportRuns(machine, track, label or f"Import of {timezone.now():%Y-%m-%d %H:%M}")
    existing = frozenset(Benchmark.objects.filter(imported=True).values_list("name", flat=True))
    of_field = Benchmark.objects.filter(family__startswith=FIELD_FAMILIES, imported=False)
    hints = replace(
        hints,
        machine=machine,
        existing=existing,
        field_models=frozenset(of_field.values_list("model", flat=True)),
    )
    try:
        add_all(read_sources(sources, hints, report), runs, report, dry_run=dry_run)
    finally:  # what has been added is judged, even if the rest could not be read
        if not dry_run:
            report.judged = judged_imports.enqueue(key=track, series_ids=report.series, judge=judge)
    return report


def add_all(
    results: Iterator[CheckedImport], runs: "ImportRuns", report: ImportReport, *, dry_run: bool
) -> None:
    """Add the results that are new, batch by batch; dry_run: count them."""
    while batch := list(islice(results, BATCH)):
        is_first = not report.added
        new = leave_out_existing(leave_out_repeats(batch, report), report)
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


def add_storable(
    imports: Sequence[CheckedImport], runs: "ImportRuns", report: ImportReport
) -> None:
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
    sources: Iterable[ImportSource], hints: Hints, report: ImportReport
) -> Iterator[CheckedImport]:
    """The results of the files that keep the contract; the others are reported."""
    for source in sources:
        try:
            body = unpack(source.body, settings.RESULT_LIMIT_BYTES)
            file = parse_file(source.name, body, hints)
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


def leave_out_repeats(
    imports: Iterable[CheckedImport], report: ImportReport
) -> list[CheckedImport]:
    """Each result once; its repeats count as existing."""
    by_id: dict[uuid.UUID, CheckedImport] = {}
    for result in imports:
        report.existing += result.job_id in by_id
        by_id.setdefault(result.job_id, result)
    return list(by_id.values())


def leave_out_existing(imports: list[CheckedImport], report: ImportReport) -> list[CheckedImport]:
    """Those whose results are not here yet.

    A result may have been imported before, or delivered by the worker that measured it.
    """
    ids_of = {each.job_id: {each.job_id, *measured_job_id(each.result)} for each in imports}
    results = Result.objects.filter(pk__in=set[uuid.UUID]().union(*ids_of.values()))
    existing = set(results.values_list("pk", flat=True))
    new = [each for each in imports if existing.isdisjoint(ids_of[each.job_id])]
    report.existing += len(imports) - len(new)
    return new


def measured_job_id(result: ResultDocument) -> list[uuid.UUID]:
    """The id of the job that was measured; none where a job made by hand has no UUID."""
    try:
        return [uuid.UUID(result.job["job_id"])]
    except ValueError:
        return []


def add(imports: Sequence[CheckedImport], runs: "ImportRuns") -> Collection[int]:
    """One batch: its jobs, finished, and what they brought; the ids of the series."""
    ensure_partitions(moments={each.result.planned_at for each in imports})
    with transaction.atomic():
        catalog = ImportCatalog(imports)
        jobs = [make_job(each, runs.run_of(each.result), catalog) for each in imports]
        Job.objects.bulk_create(jobs)
        runs.date(jobs)
        job_results = []
        for job, imported in zip(jobs, imports, strict=True):
            job_results.append(JobResult(job, imported.digest, job.status, None, imported.result))
        return store_results(job_results)


def make_job(imported: CheckedImport, run: Run, catalog: "ImportCatalog") -> Job:
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


class ImportCatalog:
    """The benchmarks and configs of a batch, by name.

    Those that no worker has brought are added, retired from planning.
    """

    def __init__(self, imports: Sequence[CheckedImport]) -> None:
        described = {each.result.benchmark["name"]: each.result.benchmark for each in imports}
        new_benchmarks = []
        for name, facts in sorted(described.items()):
            fields = {key: facts[key] for key in BENCHMARK_FIELDS if key in facts}
            new_benchmarks.append(Benchmark(name=name, retired=True, imported=True, **fields))
        Benchmark.objects.bulk_create(new_benchmarks, ignore_conflicts=True)
        benchmarks = Benchmark.objects.filter(name__in=described)
        self.benchmarks = {benchmark.name: benchmark for benchmark in benchmarks}

        names = {each.result.job["config"] for each in imports}
        new_configs = [Config(name=name, label=name, retired=True) for name in sorted(names)]
        Config.objects.bulk_create(new_configs, ignore_conflicts=True)
        self.configs = {config.name: config for config in Config.objects.filter(name__in=names)}


class ImportRuns:
    """The runs of one import: one for each build on each machine, made for its first result."""

    def __init__(self, machine: str, track: str, label: str) -> None:
        self._machine, self._track, self._label = machine, track, label
        self._runs: dict[tuple[str, str], Run] = {}

    def run_of(self, result: ResultDocument) -> Run:
        key = build_label(result), self._machine or machine_of(result).key
        if key not in self._runs:
            self._runs[key] = self._make(result)
        return self._runs[key]

    def clear(self) -> None:
        self._runs.clear()

    def date(self, jobs: Sequence[Job]) -> None:
        """Date the runs by what was measured in them, not by their import."""
        for job in jobs:
            run, finished_at = job.run, job.finished_at or job.planned_at
            if run.finished_at is None:
                run.created_at, run.finished_at = job.planned_at, finished_at
            run.created_at = min(run.created_at, job.planned_at)
            run.finished_at = max(run.finished_at, finished_at)
        runs = {job.run.pk: job.run for job in jobs}
        Run.objects.bulk_update(runs.values(), ["created_at", "finished_at"])

    def _make(self, result: ResultDocument) -> Run:
        build, machine = build_of(result), machine_of(result)
        if self._machine:
            machine = replace(machine, key=self._machine)
        # In one series with plain builds, variants would mislead
        track_key = f"{self._track}-variants" if build.variant else self._track
        track, _ = Track.objects.get_or_create(
            key=track_key, defaults={"label": "Imported results"}
        )
        return Run.objects.create(
            label=self._label,
            purpose=Purpose.IMPORT,
            state=RunState.COMPLETED,
            build=build,
            track=track,
            machine=ensure_machine(machine),
        )


def machine_of(result: ResultDocument) -> Hardware:
    """Named after its hardware; or as another tool's file names it."""
    machine = result.environment["machine"]
    of_hardware = hardware(gpu=machine.get("gpu"), cpu=machine["cpu"], cores=machine["cores"])
    name = machine.get("name", "")
    return replace(of_hardware, key=machine_key(name)) if name else of_hardware


def build_label(result: ResultDocument) -> str:
    """As the site that planned the job called it; else torch's version, and what the job varies."""
    version, variant = result.environment["torch"]["version"], result.job.get("variant")
    if result.job.get("build"):
        return str(result.job["build"])
    if variant:
        return str(variant_label(version, settings_name(variant), variant))
    return str(version)


def build_of(result: ResultDocument) -> TorchBuild:
    torch, variant = result.environment["torch"], result.job.get("variant")
    fields = {key: torch.get(key) or "" for key in ("version", "git_sha", "cuda", "triton")}
    if variant:
        base, _ = TorchBuild.objects.get_or_create(label=torch["version"], defaults=fields)
        existing = TorchBuild.objects.filter(base=base, variant=variant).order_by("pk").first()
        if existing and not result.job.get("build"):
            return existing
        fields |= {"base": base, "variant": variant}
    return TorchBuild.objects.get_or_create(label=build_label(result), defaults=fields)[0]
