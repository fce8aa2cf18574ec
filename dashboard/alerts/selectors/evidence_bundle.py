"""What can be put into the archive of an alert: of each side what its jobs left, and of both."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings

from dashboard.alerts.core.evidence_bundle import BundleFile, Content, Missing, public_environment
from dashboard.alerts.selectors import alert_data, evidence_records
from dashboard.alerts.selectors.collected_evidence import CollectedEvidence
from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.language.finite_json import FiniteEncoder
from dashboard.models import Alert, Artifact, Confirmation, Job, Result, Samples
from dashboard.results.core.code_diff import ARCHIVE, diff_text, file_diffs, normalized_files
from dashboard.results.core.compile_diff import CALLS, function_changes, read_calls
from dashboard.results.core.kernel_words import KernelTable
from dashboard.results.core.result_format import unpack_samples
from dashboard.results.selectors import kernels
from dashboard.results.selectors.generated_code import archive_bytes

_MOST_FUNCTIONS = 500  # of the counted compile diff
_KEPT = "artifacts are kept for {days} days (KEEP_ARTIFACTS_DAYS)"
_ABSENT = {  # artifact -> what it is called, why it may be missing
    ARCHIVE: ("generated code", "No job of this side left any (measure.keep_code)"),
    CALLS: ("counted compile calls", "No job of this side had a counted start (measure.starts)"),
}


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files in the order of their weight, what they are about, and what there is not."""

    files: list[Content]
    missing: list[Missing]
    about: dict[str, Any]


def contents(
    alert: Alert, sides: Sequence[Side], issue: str, collected: CollectedEvidence
) -> Bundle:
    """What the archive of an alert consists of; files are read when it is written.

    sides: base and new, of `evidence_jobs.sides`.
    issue: the text of the ready issue.
    """
    base, new = sides
    files: list[Content] = [BundleFile("issue.md", "the ready issue", "", issue.encode)]
    missing: list[Missing] = []
    _add_processes(alert, files, missing)
    for side in sides:
        _add_documents(side, files, missing)
    _add_kernels(base, new, files, missing)
    _add_differences(base, new, files)
    for side in sides:
        _add_artifacts(side, files, missing)
    traces = [evidence_records.trace_of(side) for side in sides]
    evidence_records.add(sides, traces, files, missing, collected.reason)
    for side in sides:
        _add_samples(side, files, missing)
    evidence_records.add_pages(sides, traces, files)
    return Bundle(files, missing, _about(alert, sides))


def _about(alert: Alert, sides: Sequence[Side]) -> dict[str, Any]:
    builds = {}
    for side in sides:
        build = side.build
        version = build.version if build else None
        sha = build.git_sha if build else None
        builds[side.name] = {"label": side.label, "torch": version, "git_sha": sha}
    return {
        "schema": "evidence.v1",
        "alert": f"{settings.SITE_URL}{alert.group.get_absolute_url()}?alert={alert.pk}",
        "benchmark": alert.series.benchmark.name,
        "config": alert.series.config.name,
        "metric": alert.series.metric,
        "builds": builds,
    }


def _add_processes(alert: Alert, files: list[Content], missing: list[Missing]) -> None:
    """What each process of the confirmation measured of the alert's metric."""
    confirmation = Confirmation.objects.filter(group=alert.group_id).first()
    processes = alert_data.processes(confirmation, alert) if confirmation else []
    if not processes:
        missing.append(Missing("processes.csv", "The case has not been measured again in turn."))
        return
    rows: list[Sequence[Any]] = [("place", "side", "build", alert.series.metric, "warm_up", "job")]
    for process in processes:
        rows.append(
            (
                process.place,
                process.arm,
                process.build,
                process.value,
                process.warms_up,
                process.job,
            )
        )
    what = "every process of the confirmation, in the order measured"
    files.append(BundleFile("processes.csv", what, "", partial(_csv, rows)))


def _add_documents(side: Side, files: list[Content], missing: list[Missing]) -> None:
    """The result document of the side's first job, and its environment."""
    result = side.result()
    if result is None:
        missing.append(Missing(f"{side.name}: result, environment", "No job of it has a result."))
        return
    job = str(result.job_id)
    name = f"{side.name}/result.json"
    files.append(
        BundleFile(name, "the result of one job", job, partial(_result_document, result.pk))
    )
    if result.environment is None:
        missing.append(Missing(f"{side.name}: environment", "Its result does not say it."))
        return
    environment = public_environment(result.environment.document)
    name = f"{side.name}/environment.json"
    files.append(BundleFile(name, "where it was measured", job, partial(_json, environment)))


def _result_document(pk: Any) -> bytes:
    document = Result.objects.values_list("document", flat=True).get(pk=pk)
    if "environment" in document:
        environment = public_environment(document["environment"])
        document = {**document, "environment": environment}
    return _json(document)


def _add_kernels(base: Side, new: Side, files: list[Content], missing: list[Missing]) -> None:
    """The kernels of a step on both sides, matched, a table for each arm."""
    profiled = [_profiled(side) for side in (base, new)]
    comparison = kernels.of_jobs(*profiled) if all(profiled) else None  # type: ignore[arg-type]
    if comparison is None:
        why = "A side has no profiled pass, or the two profiled different devices."
        missing.append(Missing("kernel tables", why))
        return
    for table in comparison.tables:
        name = f"kernels-{table.diff.arm}.csv"
        what = f"the kernels of the {table.diff.arm} step on both sides"
        files.append(BundleFile(name, what, "", partial(_kernel_rows, table)))


def _profiled(side: Side) -> Job | None:
    keys = [job.pk for job in side.jobs]
    results = Result.objects.filter(pk__in=keys, document__has_key="profile")
    with_profile = set(results.values_list("pk", flat=True))
    return next((job for job in side.jobs if job.pk in with_profile), None)


def _kernel_rows(table: KernelTable) -> bytes:
    rows: list[Sequence[Any]] = [
        ("match", "base", "new", "base_ms", "new_ms", "base_calls", "new_calls")
    ]
    for change in table.diff.changes:
        base = " + ".join(kernel.name for kernel in change.base)
        new = " + ".join(kernel.name for kernel in change.new)
        sizes = (change.base_ms, change.new_ms, change.base_calls, change.new_calls)
        rows.append((change.match, base, new, *sizes))
    return _csv(rows)


def _add_differences(base: Side, new: Side, files: list[Content]) -> None:
    """Of what both sides left: how it differs."""
    before = {artifact.name: artifact for artifact in base.artifacts()}
    after = {artifact.name: artifact for artifact in new.artifacts()}
    both = before.keys() & after.keys()
    if ARCHIVE in both:
        read = partial(_code_diff, before[ARCHIVE], after[ARCHIVE])
        what = "how the generated code differs, without comments, paths and hashes"
        files.append(BundleFile("generated-code.diff", what, "", read))
    if CALLS in both:
        read = partial(_calls_diff, before[CALLS], after[CALLS])
        what = "functions of the compiler that were called more, or less, in a cold start"
        files.append(BundleFile("compile-calls.csv", what, "", read))


def _code_diff(before: Artifact, after: Artifact) -> bytes:
    old, new = (normalized_files(archive_bytes(artifact)) for artifact in (before, after))
    parts = [diff_text(diff) for diff in file_diffs(old, new)]
    return "\n".join(parts).encode() or b"The generated code is the same.\n"


def _calls_diff(before: Artifact, after: Artifact) -> bytes:
    old, new = (read_calls(archive_bytes(artifact)) for artifact in (before, after))
    rows: list[Sequence[Any]] = [("function", "base", "new", "caller_that_differs_most")]
    for change in function_changes(old, new, _MOST_FUNCTIONS):
        function = change.function
        caller = change.caller.name if change.caller else ""
        rows.append((function.name, function.before, function.after, caller))
    return _csv(rows)


def _add_artifacts(side: Side, files: list[Content], missing: list[Missing]) -> None:
    """Every file that the side's jobs left, and which of the usual ones they did not."""
    artifacts = side.artifacts()
    for artifact in artifacts:
        if artifact.name in evidence_records.NAMES:
            continue  # they are unpacked
        name = f"{side.name}/{artifact.name}"
        job = str(artifact.job_id)
        what = _ABSENT.get(artifact.name, ("a file that the job left",))[0]
        files.append(BundleFile(name, what, job, partial(archive_bytes, artifact)))
    names = {artifact.name for artifact in artifacts}
    kept = _KEPT.format(days=settings.KEEP_ARTIFACTS_DAYS)
    if not settings.KEEP_ARTIFACTS_DAYS:
        kept = "artifacts are kept for ever here"
    for name, (what, why) in _ABSENT.items():
        if name not in names:
            missing.append(Missing(f"{side.name}: {what}", f"{why}; {kept}."))


def _add_samples(side: Side, files: list[Content], missing: list[Missing]) -> None:
    """The raw samples of the first job that has some."""
    keys = [job.pk for job in side.jobs]
    rows = Samples.objects.filter(job__in=keys).order_by("pk").defer("cpu_ms", "order")
    by_job: dict[Any, list[Samples]] = {}
    for row in rows:
        by_job.setdefault(row.job_id, []).append(row)
    first = next((key for key in keys if key in by_job), None)
    if first is None:
        days = settings.KEEP_SAMPLES_DAYS
        why = f"No job of it has any; they are kept for {days} days (KEEP_SAMPLES_DAYS; 0: ever)."
        missing.append(Missing(f"{side.name}: raw samples", why))
        return
    for row in by_job[first]:
        name = f"{side.name}/samples-{row.arm}.csv"
        what = f"the raw samples of {row.arm} in one job, in {row.unit} per step"
        files.append(BundleFile(name, what, str(first), partial(_sample_rows, row)))


def _sample_rows(row: Samples) -> bytes:
    return _csv([(row.unit,), *((value,) for value in unpack_samples(bytes(row.values)))])


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False, cls=FiniteEncoder).encode()


def _csv(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
