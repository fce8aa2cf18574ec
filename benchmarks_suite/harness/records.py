"""Records that the compiler wrote about itself in a diagnostic start, as artifacts of the job.

``structured-trace.tar.xz`` has the files that torch wrote under ``TORCH_TRACE``, one for each
process that compiled, as they are: tlparse checks their contents. ``compiler-log.txt.xz`` is the
start's standard error, without the folders of this machine. A file that is too large is cut, and
the answer says by how much: the trace between two entries, the log in its middle.
"""

import io
import lzma
import tarfile
from pathlib import Path
from typing import Final

from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.portable_text import portable

TRACE, LOG = "structured-trace.tar.xz", "compiler-log.txt.xz"
MOST_BYTES = 32 * 2**20  # of one file, before it is packed
MOST_IN_ALL = 64 * 2**20  # of all traces
MOST_LOG_BYTES = 32 * 2**20
TIME_TO_PACK_S = 20.0
_PRESET: Final = 2  # of xz: a trace is packed to 5% in a second per 10 MB


def keep(traces: Path, log: Path, artifacts: Path) -> Document:
    """Packs both into ``artifacts``; of each file by name: its artifact, bytes, and bytes cut.

    traces: a folder, which need not exist. log: a file, which need not exist. Raises OSError.
    """
    artifacts.mkdir(parents=True, exist_ok=True)
    files = _keep_traces(traces, artifacts / TRACE)
    if log.exists() and log.stat().st_size:
        size = log.stat().st_size
        text = portable(_without_middle(log, size).decode(errors="replace"))
        (artifacts / LOG).write_bytes(lzma.compress(text.encode(), preset=_PRESET))
        files[log.name] = _described(LOG, size, min(size, MOST_LOG_BYTES))
    return files


def _keep_traces(traces: Path, target: Path) -> Document:
    # The largest first: a process that only loaded something must not take the room
    paths = sorted(traces.glob("*.log"), key=lambda path: (-path.stat().st_size, path.name))
    if not paths:
        return {}
    files = {}
    room = MOST_IN_ALL
    with tarfile.open(target, mode="w:xz", preset=_PRESET) as archive:
        for path in paths:
            size = path.stat().st_size
            body = whole_entries(path, min(room, MOST_BYTES))
            room -= len(body)
            if body:
                entry = tarfile.TarInfo(path.name)
                entry.size = len(body)
                archive.addfile(entry, io.BytesIO(body))
            files[path.name] = _described(TRACE, size, len(body))
    return files


def whole_entries(trace: Path, most: int) -> bytes:
    """The entries at the beginning of a trace that fit into ``most`` bytes.

    An entry is a line, and the lines of its payload, which begin with a tab.
    """
    with trace.open("rb") as file:
        body = file.read(most + 1)
    if len(body) <= most:
        return body
    end = body.rfind(b"\n", 0, most)
    while end >= 0 and body[end + 1 : end + 2] == b"\t":
        end = body.rfind(b"\n", 0, end)
    return body[: end + 1]


def _without_middle(log: Path, size: int) -> bytes:
    """The beginning says what was compiled, the end what ended it."""
    with log.open("rb") as file:
        if size <= MOST_LOG_BYTES:
            return file.read()
        beginning = file.read(MOST_LOG_BYTES // 2)
        file.seek(-(MOST_LOG_BYTES // 2), io.SEEK_END)
        end = file.read()
    cut = f"\n[{size - MOST_LOG_BYTES} bytes are left out here]\n"
    return beginning + cut.encode() + end


def last_words(log: Path, most: int) -> str:
    """The end of a log; empty where there is none."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - most, 0))
        return file.read().decode(errors="replace")


def _described(artifact: str, size: int, kept: int) -> Document:
    return {"artifact": artifact, "bytes": size, "cut_bytes": size - kept}
