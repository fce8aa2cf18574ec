"""Takes in result files of machines that reach nothing, and other tools' files: the same rows as
over HTTP.

A document is known by its digest, from which its job's id follows: taking it in twice changes
nothing.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import orjson
from django.conf import settings
from django.db import DataError, connection, transaction
from django.utils import timezone

from dashboard.catalog.core.hardware import hardware
from dashboard.catalog.services.builds import settings_name, variant_label
from dashboard.catalog.services.machines import ensure_machine
from dashboard.catalog.services.suite_catalog import BENCHMARK_FIELDS
from dashboard.language.contracts import Refused
from dashboard.models import (
    Benchmark,
    Config,
    Job,
    JobState,
    Machine,
    Purpose,
    Result,
    Run,
    RunState,
    TorchBuild,
    Track,
)
from dashboard.results.core.result_format import ResultDocument, parse_result, unpack
from dashboard.results.formats import NOTHING_SAID, Hints, understand
from dashboard.results.services.store import JobResult, store_results
from dashboard.runs.services.partitions import ensure_partitions

BATCH = 1000  # results in one transaction
NAMESPACE = uuid.UUID("6d0f4b1e-4f0c-4c39-9a0c-5a7f2f9f6a11")  # of the ids of imported jobs


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file as it came: where from, and its bytes, gzip or plain."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Import:
    """A checked document and the id that its job has or would have."""

    source: str
    digest: str
    job_id: uuid.UUID
    result: ResultDocument


@dataclass(slots=True)
class ImportReport:
    """What an import did: counts, and (source, reason) of what it refused.

    understood: by format, how many results were read; left_out: metrics that the site does not
        have, how often.
    """

    added: int = 0
    known: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)
    understood: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


def import_results(
    *,
    sources: Iterable[ImportSource],
    machine: str = "",
    track: str = "import",
    label: str = "",
    dry_run: bool = False,
    hints: Hints = NOTHING_SAID,
) -> ImportReport:
    """Take in files. Benchmarks, configs, builds and machines that are new get their rows.

    machine: key of the machine, else derived from the GPU's or CPU's name in each result. hints:
        what files of other
    tools do not say. dry_run: only report.
    """
    report, runs = (
        ImportReport(),
        Runs(machine, track, label or f"Import of {timezone.now():%Y-%m-%d %H:%M}"),
    )
    hints = replace(hints, machine=machine)
    remaining = (one for source in sources for one in read(source, hints, report))
    while batch := list(islice(remaining, BATCH)):
        is_first = not report.added
        fresh = leave_known(once(batch, report), report)
        report.added += len(fresh)
        if not dry_run and fresh:
            add_storable(fresh, runs, report)
            if is_first:
                count_rows()
    return report


def count_rows() -> None:
    """Let Postgres know how many rows there are now.

    Until it looks by itself it takes tables that were just filled for empty ones, and then needs 30
    times as long for the rollups of the batches that follow.
    """
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dashboard_series, dashboard_datum")


def add_storable(imports: Sequence[Import], runs: "Runs", report: ImportReport) -> None:
    """Add a batch; where a number in it is beyond a column's range, add the others one by one."""
    try:
        add(imports, runs)
    except DataError as error:
        runs.forget()  # those made in the transaction that failed
        if len(imports) == 1:
            report.added -= 1
            report.refused.append((imports[0].source, f"it cannot be stored: {error}"))
            return
        for one in imports:
            add_storable([one], runs, report)


def read(source: ImportSource, hints: Hints, report: ImportReport) -> Iterator[Import]:
    """The results of a file that keep the contract; the others are reported."""
    try:
        found = understand(source.name, unpack(source.body, settings.RESULT_LIMIT_BYTES), hints)
    except Refused as error:
        report.refused.append((source.name, str(error)))
        return
    report.refused += [(one.where, one.why) for one in found.refused]
    report.left_out += found.left_out
    for where, document in found.documents:
        try:
            result = parse_result(document)
        except Refused as error:
            report.refused.append((where, str(error)))
            continue
        report.understood[found.format] += 1
        digest = hashlib.sha256(orjson.dumps(document, option=orjson.OPT_SORT_KEYS)).hexdigest()
        yield Import(where, digest, uuid.uuid5(NAMESPACE, digest), result)


def once(imports: Iterable[Import], report: ImportReport) -> list[Import]:
    """Each result once; the others count as known."""
    found: dict[uuid.UUID, Import] = {}
    for one in imports:
        report.known += one.job_id in found
        found.setdefault(one.job_id, one)
    return list(found.values())


def leave_known(imports: list[Import], report: ImportReport) -> list[Import]:
    """Those whose results are not here yet: neither imported before, nor delivered by the worker
    that measured them.
    """
    ids = {uuid_or_none(one.result.job["job_id"]) for one in imports} | {
        one.job_id for one in imports
    }
    here = set(Result.objects.filter(pk__in=ids - {None}).values_list("pk", flat=True))
    fresh = [
        one for one in imports if not here & {one.job_id, uuid_or_none(one.result.job["job_id"])}
    ]
    report.known += len(imports) - len(fresh)
    return fresh


def uuid_or_none(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def add(imports: Sequence[Import], runs: "Runs") -> None:
    """One batch: its jobs, finished, and what they brought."""
    ensure_partitions(moments={one.result.planned_at for one in imports})
    with transaction.atomic():
        catalog = Catalog(imports)
        jobs = [job_of(one, runs.run_of(one), catalog) for one in imports]
        Job.objects.bulk_create(jobs)
        store_results(
            [
                JobResult(job, one.digest, job.status, None, one.result)
                for job, one in zip(jobs, imports, strict=True)
            ]
        )


def job_of(one: Import, run: Run, catalog: "Catalog") -> Job:
    return Job(
        uuid=one.job_id,
        run=run,
        benchmark=catalog.benchmarks[one.result.benchmark["name"]],
        config=catalog.configs[one.result.job["config"]],
        spec=dict(one.result.job),
        state=JobState.DONE,
        status=one.result.status,
        message=one.result.message,
        planned_at=one.result.planned_at,
        claimed_at=one.result.started_at,
        finished_at=one.result.finished_at,
    )


class Catalog:
    """The benchmarks and configs of a batch, by name; what no worker has brought is added, retired
    from planning.
    """

    def __init__(self, imports: Sequence[Import]) -> None:
        described = {one.result.benchmark["name"]: one.result.benchmark for one in imports}
        configs = {one.result.job["config"] for one in imports}
        Benchmark.objects.bulk_create(
            [benchmark_of(described[name]) for name in sorted(described)], ignore_conflicts=True
        )
        Config.objects.bulk_create(
            [Config(name=name, label=name, retired=True) for name in sorted(configs)],
            ignore_conflicts=True,
        )
        self.benchmarks = {b.name: b for b in Benchmark.objects.filter(name__in=described)}
        self.configs = {c.name: c for c in Config.objects.filter(name__in=configs)}


def benchmark_of(described: Any) -> Benchmark:
    fields = {key: described[key] for key in BENCHMARK_FIELDS if key in described}
    return Benchmark(name=described["name"], retired=True, imported=True, **fields)


class Runs:
    """The runs of one import: one for each build on each machine, made when the first result needs
    it.
    """

    def __init__(self, machine: str, track: str, label: str) -> None:
        self._machine, self._track, self._label = machine, track, label
        self._made: dict[tuple[str, str], Run] = {}

    def run_of(self, one: Import) -> Run:
        build, machine = build_label(one.result), self._machine or machine_of(one.result).key
        if (build, machine) not in self._made:
            self._made[build, machine] = self._make(one.result)
        return self._made[build, machine]

    def forget(self) -> None:
        self._made.clear()

    def _make(self, result: ResultDocument) -> Run:
        build, found = build_of(result), machine_of(result)
        key = (
            f"{self._track}-variants" if build.variant else self._track
        )  # in one series with plain builds they mislead
        track, _ = Track.objects.get_or_create(key=key, defaults={"label": "Imported results"})
        machine = Machine.objects.filter(key=self._machine).first() if self._machine else None
        return Run.objects.create(
            label=self._label,
            purpose=Purpose.IMPORT,
            state=RunState.COMPLETED,
            finished_at=timezone.now(),
            build=build,
            track=track,
            machine=machine or ensure_machine(replace(found, key=self._machine or found.key)),
        )


def machine_of(result: ResultDocument) -> Any:
    told = result.environment["machine"]
    return hardware(gpu=told.get("gpu"), cpu=told["cpu"], cores=told["cores"])


def build_label(result: ResultDocument) -> str:
    """As the site that planned the job called it; of a job made by hand torch's version, and what
    it varies.
    """
    version, variant = result.environment["torch"]["version"], result.job.get("variant")
    made = variant_label(version, settings_name(variant), variant) if variant else version
    return str(result.job.get("build") or made)


def build_of(result: ResultDocument) -> TorchBuild:
    torch, variant = result.environment["torch"], result.job.get("variant")
    known = {key: torch.get(key) or "" for key in ("version", "git_sha", "cuda", "triton")}
    if variant:
        base, _ = TorchBuild.objects.get_or_create(label=torch["version"], defaults=known)
        here = TorchBuild.objects.filter(base=base, variant=variant).order_by("pk").first()
        if here and not result.job.get("build"):
            return here
        known |= {"base": base, "variant": variant}
    return TorchBuild.objects.get_or_create(label=build_label(result), defaults=known)[0]
