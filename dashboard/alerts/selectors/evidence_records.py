"""What the archive of an alert has of the compiler's own records, which diagnostic reruns keep: the
structured trace, its FX graphs and how they differ, tlparse's pages of it, and the compiler's log.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dashboard.alerts.core.evidence_bundle import BundleFile, BundleFolder, Content, Missing
from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.language.contracts import Refused
from dashboard.models import Artifact, Result
from dashboard.results.core.code_diff import diff_text
from dashboard.results.core.structured_trace import (
    LOG,
    MOST_BYTES,
    TRACE,
    GraphDiff,
    graph_diff,
    graph_files,
)
from dashboard.results.core.untrusted import archived_files, unpack
from dashboard.results.selectors.generated_code import archive_bytes

NAMES = (TRACE, LOG)
_MIB = 2**20
_MOST_LOG_BYTES = 40 * _MIB  # unpacked: somewhat more than the suite keeps
_PLAIN_NAME = re.compile(r"\w[\w.-]*")  # as torch names its trace
_TLPARSE = "tlparse"
_TLPARSE_COPIES = ("raw.log", "raw.jsonl")  # of the whole trace, which has a folder of its own
_TLPARSE_S = 20  # that it may take, while somebody waits for the download


@dataclass(frozen=True)
class Trace:
    """The structured trace that a side's diagnostic job left; it is read when it is needed."""

    artifact: Artifact

    @cached_property
    def files(self) -> dict[str, str]:
        """File name -> text, the largest first. Raises OSError, Refused."""
        texts = archived_files(archive_bytes(self.artifact), "structured trace", MOST_BYTES)
        for name in texts:
            # A worker's archive may say anything; a name must not lead out of the folder
            if not _PLAIN_NAME.fullmatch(name):
                raise Refused(f"The structured trace has a file called {name[:100]!r}.")
        return texts

    @cached_property
    def graphs(self) -> dict[str, str]:
        """File name -> text. Raises OSError, Refused."""
        return graph_files(self.files.values())


def add(
    sides: Sequence[Side],
    traces: Sequence[Trace | None],
    files: list[Content],
    missing: list[Missing],
    why: str,
) -> None:
    """The records of both sides, and how their graphs differ.

    sides, traces: base and new. why: why a side has none, where no job of it says so.
    """
    before, after = traces
    if before and after:
        read = partial(_graph_diff, before, after)
        what = "how the FX graphs differ, without comments, paths and addresses"
        files.append(BundleFile("fx-graphs.diff", what, "", read))
    for side, trace in zip(sides, traces, strict=True):
        absent = []
        if trace:
            _add_trace(side.name, trace, files)
        else:
            absent += ["structured trace", "FX graphs"]
        if log := _artifact(side, LOG):
            _add_log(side.name, log, files)
        else:
            absent.append("compiler log")
        if absent:
            reason = _why_no_trace(side) or why
            missing.append(Missing(f"{side.name}: {', '.join(absent)}", reason))
        missing += _cut(side)


def trace_of(side: Side) -> Trace | None:
    artifact = _artifact(side, TRACE)
    return Trace(artifact) if artifact else None


def _artifact(side: Side, name: str) -> Artifact | None:
    return next((each for each in side.artifacts() if each.name == name), None)


def _add_trace(side: str, trace: Trace, files: list[Content]) -> None:
    job = str(trace.artifact.job_id)
    name = f"{side}/fx-graphs/"
    what = "the FX graphs of the trace, and Inductor's as a script"
    files.append(BundleFolder(name, what, job, lambda: _encoded(trace.graphs)))
    name = f"{side}/trace/"
    what = "the structured trace of a cold compile (TORCH_TRACE), as torch wrote it"
    files.append(BundleFolder(name, what, job, lambda: _encoded(trace.files)))


def add_pages(sides: Sequence[Side], traces: Sequence[Trace | None], files: list[Content]) -> None:
    """tlparse's pages of each side's trace, where this machine has the program."""
    if not shutil.which(_TLPARSE):
        return
    for side, trace in zip(sides, traces, strict=True):
        if trace:
            what = "tlparse's pages of the trace: open index.html"
            read = partial(_tlparse_pages, trace)
            job = str(trace.artifact.job_id)
            files.append(BundleFolder(f"{side.name}/tlparse/", what, job, read))


def _encoded(texts: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in texts.items()}


def _add_log(side: str, artifact: Artifact, files: list[Content]) -> None:
    what = "what TORCH_LOGS writes about a cold compile"
    read = partial(_log_text, artifact)
    files.append(BundleFile(f"{side}/compiler.log", what, str(artifact.job_id), read))


def _log_text(artifact: Artifact) -> bytes:
    try:
        return unpack(archive_bytes(artifact), _MOST_LOG_BYTES, "it")
    except Refused as error:
        raise Refused(f"The compiler's log cannot be read: {error}.") from None


def _graph_diff(before: Trace, after: Trace) -> bytes:
    diff = graph_diff(before.graphs, after.graphs)
    return "\n".join([_summary(diff), *map(diff_text, diff.files)]).encode()


def _summary(diff: GraphDiff) -> str:
    base, new = diff.compared
    lines = [f"# {base} graphs of base and {new} of new are compared: {len(diff.files)} differ."]
    if diff.one_sided:
        kinds = ", ".join(diff.one_sided)
        lines.append(f"# Only one side has graphs of these kinds, which are not compared: {kinds}")
    return "\n".join(lines) + "\n"


def _tlparse_pages(trace: Trace) -> dict[str, bytes]:
    """What tlparse writes about the largest file of the trace. Raises OSError with its words."""
    [text, *_] = trace.files.values()
    with tempfile.TemporaryDirectory(prefix="tlparse-") as name:
        folder = Path(name)
        log, pages = folder / "trace.log", folder / "pages"
        log.write_text(text, encoding="utf-8")
        command = [_TLPARSE, str(log), "-o", str(pages), "--no-browser"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_TLPARSE_S)
        except subprocess.TimeoutExpired as error:
            raise OSError(f"tlparse took more than {_TLPARSE_S} s.") from error
        except subprocess.CalledProcessError as error:
            words = error.stderr.decode(errors="replace").strip()[-500:]
            raise OSError(f"tlparse could not read the trace: {words}") from error
        return _pages_in(pages)


def _pages_in(folder: Path) -> dict[str, bytes]:
    files = {}
    for path in sorted(folder.rglob("*")):
        is_copy = path.name in _TLPARSE_COPIES
        if path.is_file() and not path.is_symlink() and not is_copy:
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def _why_no_trace(side: Side) -> str:
    """What the side's newest diagnostic start says; empty where it has had none."""
    start = _diagnostic_start(side)
    if not start:
        return ""
    reason = str(start.get("no_trace") or start.get("message") or "It is no longer kept")
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


def _cut(side: Side) -> list[Missing]:
    """What was too large for the suite to keep."""
    absent = []
    for name, file in _diagnostic_start(side).get("files", {}).items():
        if file["cut_bytes"]:
            what = f"{side.name}: the rest of {name}"
            cut, size = file["cut_bytes"] / _MIB, file["bytes"] / _MIB
            absent.append(Missing(what, f"{cut:.1f} of {size:.1f} MiB were too large to keep."))
    return absent


def _diagnostic_start(side: Side) -> dict[str, Any]:
    """What the result of the side's newest diagnostic job says of that start."""
    keys = [job.pk for job in side.jobs if job.run.evidence_of_id is not None]
    if not keys:
        return {}
    documents = Result.objects.filter(pk=keys[0])
    start = documents.values_list("document__starts__diagnostic", flat=True).first()
    return start or {}
