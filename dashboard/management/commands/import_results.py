"""manage.py import_results: take in result files from machines that reach nothing."""

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.services.imports import Source, import_results


class Command(BaseCommand):
    help = "Take in result files; those that are here already are left out, so that it can be run again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, help="result files (.json), folders, .jsonl.gz, .tar.gz")
        parser.add_argument("--machine", default="", help="key of the machine; else from the GPU's or CPU's name")
        parser.add_argument("--track", default="import", help="key of the track of their series (import)")
        parser.add_argument("--label", default="", help="shown with the runs")
        parser.add_argument("--dry-run", action="store_true", help="check and count, change nothing")

    def handle(self, **options: Any) -> None:
        missing = [str(path) for path in options["paths"] if not path.exists()]
        if missing:
            raise CommandError(f"There is no {', '.join(missing)}.")
        report = import_results(
            sources=(source for path in options["paths"] for source in sources_in(path)),
            **{key: options[key] for key in ("machine", "track", "label", "dry_run")},
        )
        for name, reason in report.refused:
            self.stderr.write(f"{name}: refused: {reason}")
        verb = "would be added" if options["dry_run"] else "added"
        self.stdout.write(f"{report.added} {verb}, {report.known} here already, {len(report.refused)} refused")
        if report.refused and not report.added and not report.known:
            raise CommandError("Nothing could be taken in: the reasons are above.")


def sources_in(path: Path) -> Iterator[Source]:
    """Every result document under `path`. Raises CommandError for an archive that cannot be read."""
    try:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if file.suffix in {".json", ".gz"} and file.is_file():
                    yield from sources_in(file)
        elif path.name.endswith((".tar.gz", ".tgz")):
            yield from _in_archive(path)
        elif path.name.endswith(".jsonl.gz"):
            yield from _in_lines(path)
        else:
            with path.open("rb") as document:
                yield Source(str(path), document.read(settings.RESULT_LIMIT_BYTES + 1))
    except (OSError, EOFError, tarfile.TarError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None


def _in_archive(path: Path) -> Iterator[Source]:
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
            if file is not None:
                yield Source(f"{path}:{member.name}", file.read(settings.RESULT_LIMIT_BYTES + 1))


def _in_lines(path: Path) -> Iterator[Source]:
    with gzip.open(path) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(settings.RESULT_LIMIT_BYTES + 1), b""), start=1):
            if line.strip():
                yield Source(f"{path}:{number}", line)
