"""Result documents in files, folders and archives."""

import gzip
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from django.conf import settings

from dashboard.language.contracts import Refused
from dashboard.results.core.untrusted import tar_files
from dashboard.results.services.import_existing import ImportSource

OURS = b'"result.v1"'
# How `batch` and the worker name what they write in a job's folder
JOB, RESULT, ARTIFACTS = "job.json", "result.json", "artifacts"
_READ_IN_ARCHIVES = (".json", ".csv", ".js")
_MOST_BYTES = 4 * 2**30  # that an archive unpacks to
IN_ARCHIVES = (
    f"In an archive, files that end in {', '.join(_READ_IN_ARCHIVES)} are read: results of "
    "benchmarks_suite, or another tool's."
)


class UnreadableFile(ValueError):
    """A file or archive cannot be read; the text says which and why."""


def sources_in(path: Path) -> Iterator[ImportSource]:
    """Every result document under `path`, each with its job's artifacts. Raises UnreadableFile."""
    try:
        if path.is_dir():
            for file in filter(_may_be_results, sorted(path.rglob("*"))):
                yield from sources_in(file)
        elif path.name.endswith((".tar.gz", ".tgz")):
            yield from _in_archive(path)
        elif path.name.endswith((".zip", ".tar")):
            raise UnreadableFile(f"{path.name} is not an archive that is read: pack a .tar.gz.")
        elif path.name.endswith(".jsonl.gz"):
            yield from _in_lines(path)
        else:
            artifacts = sorted((path.parent / ARTIFACTS).glob("*")) if path.name == RESULT else []
            with path.open("rb") as document:
                body = document.read(settings.RESULT_LIMIT_BYTES + 1)
            yield ImportSource(str(path), body, tuple(artifacts))
    except (OSError, EOFError, zlib.error, Refused) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}") from None


def _may_be_results(file: Path) -> bool:
    """Test whether to read a file found in a folder: not what a job was asked for, or left."""
    return (
        file.suffix in {".json", ".jsonl", ".csv", ".gz", ".js"}
        and file.name != JOB
        and file.parent.name != ARTIFACTS
        and file.is_file()
    )


def _in_archive(path: Path) -> Iterator[ImportSource]:
    with gzip.open(path) as archive:
        for name, body in tar_files(archive, _MOST_BYTES, settings.RESULT_LIMIT_BYTES):
            if name.endswith(_READ_IN_ARCHIVES):
                yield ImportSource(f"{path}:{name}", body)


def _in_lines(path: Path) -> Iterator[ImportSource]:
    """Our own results, one a line; another tool's file as a whole: its lines belong together."""
    limit = settings.RESULT_LIMIT_BYTES + 1
    with gzip.open(path) as lines:
        first = lines.readline(limit)
        if OURS not in first:
            yield ImportSource(str(path), first + lines.read(limit - len(first)))
            return
        remaining = iter(lambda: lines.readline(limit), b"")
        for number, line in enumerate(chain([first], remaining), start=1):
            if line.strip():
                yield ImportSource(f"{path}:{number}", line)
