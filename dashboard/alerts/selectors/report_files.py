"""The files of an alert's report: results, how the two builds differ, what their jobs left."""

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from dashboard.alerts.core.report_files import ReportPart, public_environment
from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.language.contracts import Refused
from dashboard.language.finite_json import FiniteEncoder
from dashboard.models import Artifact, Job, Result
from dashboard.results.core.code_diff import ARCHIVE, diff_text, file_diffs, normalized_files
from dashboard.results.core.compile_diff import CALLS, function_changes, read_calls
from dashboard.results.core.kernel_words import KernelTable
from dashboard.results.core.structured_trace import LOG, MOST_BYTES, TRACE, graph_diff, graph_files
from dashboard.results.core.untrusted import archived_files, unpack
from dashboard.results.selectors import kernels
from dashboard.results.selectors.generated_code import archive_bytes

_MOST_FUNCTIONS = 500  # of the counted calls that differ
_MOST_LOG_BYTES = 40 * 2**20  # unpacked: somewhat more than the suite keeps
_PLAIN_NAME = re.compile(r"\w[\w.-]*")  # as torch names its trace


@dataclass(frozen=True)
class Trace:
    """The structured trace that a diagnostic job left; both raise OSError, Refused."""

    artifact: Artifact

    @cached_property
    def files(self) -> dict[str, str]:
        texts = archived_files(archive_bytes(self.artifact), "structured trace", MOST_BYTES)
        for name in texts:
            # A worker's archive may say anything; a name must not lead out of the folder
            if not _PLAIN_NAME.fullmatch(name):
                raise Refused(f"The structured trace has a file called {name[:100]!r}.")
        return texts

    @cached_property
    def graphs(self) -> dict[str, str]:
        return graph_files(self.files.values())


def parts(sides: Sequence[Side], issue: str) -> list[ReportPart]:
    """Parts of the report, the most important first; they are read when they are packed.

    sides: base and new, of `evidence_jobs.sides`.
    issue: the text of the ready issue.
    """
    listed = [ReportPart("issue.md", "the ready issue", lambda: issue)]
    for side in sides:
        if result := side.result():
            about = "the result of one job, with its environment"
            listed.append(ReportPart(f"{side.name}/result.json", about, partial(_result, result)))
    traces = {side.name: Trace(artifact) for side in sides if (artifact := side.artifact(TRACE))}
    listed += [*_kernel_tables(sides), *_differences(sides, [*traces.values()])]
    for side in sides:
        for artifact in side.artifacts():
            if artifact.name not in (TRACE, LOG):
                name, read = f"{side.name}/{artifact.name}", partial(archive_bytes, artifact)
                listed.append(ReportPart(name, "as a job left it", read))
        if trace := traces.get(side.name):
            name, read = f"{side.name}/fx-graphs/", partial(getattr, trace, "graphs")
            listed.append(ReportPart(name, "the FX graphs, and Inductor's as scripts", read))
            name, read = f"{side.name}/trace/", partial(getattr, trace, "files")
            listed.append(ReportPart(name, "the structured trace, which tlparse reads", read))
        if log := side.artifact(LOG):
            name, read = f"{side.name}/compiler.log", partial(_log, log)
            listed.append(ReportPart(name, "the compiler's log of a cold compile", read))
    return listed


def profiled_jobs(sides: Sequence[Side]) -> list[Job]:
    """The first job with a profile of each side that has one."""
    jobs: list[Job] = []
    for side in sides:
        jobs += [job for job in side.jobs if getattr(job, "is_profiled", True)][:1]
    return jobs


def _kernel_tables(sides: Sequence[Side]) -> list[ReportPart]:
    """The kernels of a step on both sides, matched: a table for each arm."""
    jobs = profiled_jobs(sides)
    comparison = kernels.of_jobs(*jobs) if len(jobs) == len(sides) else None
    parts = []
    for table in comparison.tables if comparison else ():
        about = f"the kernels of the {table.diff.arm} step on both sides"
        name = f"kernels-{table.diff.arm}.csv"
        parts.append(ReportPart(name, about, partial(_kernel_rows, table)))
    return parts


def _differences(sides: Sequence[Side], traces: Sequence[Trace]) -> list[ReportPart]:
    """Differences between what both sides left."""
    parts = []
    codes = [artifact for side in sides if (artifact := side.artifact(ARCHIVE))]
    if len(codes) == len(sides):
        about = "how the generated code differs, without comments, paths and hashes"
        parts.append(ReportPart("generated-code.diff", about, partial(_code_diff, *codes)))
    if len(traces) == len(sides):
        about = "how the FX graphs differ, without comments, paths and addresses"
        parts.append(ReportPart("fx-graphs.diff", about, partial(_graph_diff, *traces)))
    calls = [artifact for side in sides if (artifact := side.artifact(CALLS))]
    if len(calls) == len(sides):
        about = "functions of the compiler that were called more, or less, in a cold start"
        parts.append(ReportPart("compile-calls.csv", about, partial(_calls_diff, *calls)))
    return parts


def _result(result: Result) -> str:
    document = Result.objects.values_list("document", flat=True).get(pk=result.pk)
    environment = result.environment.document if result.environment else {}
    document = {**document, "environment": public_environment(environment)}
    return json.dumps(document, indent=2, ensure_ascii=False, cls=FiniteEncoder)


def _kernel_rows(table: KernelTable) -> str:
    rows: list[Sequence[Any]] = [
        ("match", "base", "new", "base_ms", "new_ms", "base_calls", "new_calls")
    ]
    for change in table.diff.changes:
        base = " + ".join(kernel.name for kernel in change.base)
        new = " + ".join(kernel.name for kernel in change.new)
        sizes = (change.base_ms, change.new_ms, change.base_calls, change.new_calls)
        rows.append((change.match, base, new, *sizes))
    return _csv(rows)


def _code_diff(before: Artifact, after: Artifact) -> str:
    old, new = (normalized_files(archive_bytes(artifact)) for artifact in (before, after))
    parts = [diff_text(diff) for diff in file_diffs(old, new)]
    return "\n".join(parts) or "The generated code is the same.\n"


def _graph_diff(before: Trace, after: Trace) -> str:
    diff = graph_diff(before.graphs, after.graphs)
    base, new = diff.compared
    head = f"# {base} graphs of base and {new} of new are compared: {len(diff.files)} differ.\n"
    if diff.one_sided:
        kinds = ", ".join(diff.one_sided)
        head += f"# Only one side has graphs of these kinds, which are not compared: {kinds}\n"
    return "\n".join([head, *map(diff_text, diff.files)])


def _calls_diff(before: Artifact, after: Artifact) -> str:
    old, new = (read_calls(archive_bytes(artifact)) for artifact in (before, after))
    rows: list[Sequence[Any]] = [("function", "base", "new", "caller_that_differs_most")]
    for change in function_changes(old, new, _MOST_FUNCTIONS):
        function = change.function
        caller = change.caller.name if change.caller else ""
        rows.append((function.name, function.before, function.after, caller))
    return _csv(rows)


def _log(artifact: Artifact) -> bytes:
    return unpack(archive_bytes(artifact), _MOST_LOG_BYTES, "The compiler's log")


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
