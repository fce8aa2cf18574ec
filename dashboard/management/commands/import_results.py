"""manage.py import_results: import result files of offline machines and of other tools."""

from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import MaxLengthValidator
from django.utils import timezone

from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models.catalog import TRACK_KEY
from dashboard.results.formats import OURS, Hints, Table, parse_metric_mapping, parse_table
from dashboard.results.services.import_existing import ImportReport
from dashboard.results.services.import_files import IN_ARCHIVES, UnreadableFile, sources_in
from dashboard.results.services.imports import import_results

READS = ".json, .jsonl, .csv, .js, .gz, .tar.gz"
PASSED_ON = ("machine", "track", "label", "dry_run")


class Command(SiteCommand):
    help = (
        "Import result files, ours and other tools'; results that are here already are skipped, so "
        "that it can be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths",
            nargs="+",
            type=Path,
            help=f"files ({READS}), or folders with them",
        )
        parser.add_argument(
            "--machine",
            type=key,
            default="",
            help="key of the machine; else from the GPU's or CPU's name",
        )
        parser.add_argument(
            "--track",
            type=key,
            default="import",
            help="key of the track of their series (import)",
        )
        parser.add_argument("--label", default="", help="shown with the runs")
        parser.add_argument(
            "--build", default="", help="label of the build, where a file does not name it"
        )
        parser.add_argument(
            "--at", type=moment, help="when it was measured, where a file does not say"
        )
        parser.add_argument(
            "--config", default="", help="the config, where a file of another tool names none"
        )
        parser.add_argument(
            "--metric",
            type=metric,
            action="append",
            default=[],
            metavar="THEIRS=OURS*FACTOR",
            help="which of our metrics one of theirs is, by name, pattern or unit, as "
            "'Fwd Time (us)=latency_ms*0.001' or '*/compile_s=cold_start_s'; repeatable",
        )
        parser.add_argument(
            "--map", type=table, metavar="FILE", help="the mapping of any other CSV or JSON"
        )
        parser.add_argument("--judge", action="store_true", help="ignored: each import is judged")
        parser.add_argument(
            "--dry-run", action="store_true", help="check and count, change nothing"
        )

    def handle(self, **options: Any) -> None:
        missing = [str(path) for path in options["paths"] if not path.exists()]
        if missing:
            raise CommandError(f"There is no {', '.join(missing)}.")
        try:
            report = import_results(
                sources=(source for path in options["paths"] for source in sources_in(path)),
                hints=Hints(
                    options["build"],
                    options["at"],
                    config=options["config"],
                    metrics=dict(options["metric"]),
                    table=options["map"],
                ),
                **{key: options[key] for key in PASSED_ON},
            )
        except UnreadableFile as error:
            raise CommandError(str(error)) from None
        for line in in_words(report):
            self.stdout.write(line)
        for name, reason in report.refused:
            self.stderr.write(f"{name}: refused: {reason}")
        verb = "would be added" if options["dry_run"] else "added"
        self.stdout.write(
            f"{report.added} {verb}, {report.existing} here already, {len(report.refused)} refused"
        )
        for (track, machine), count in report.elsewhere.items():
            self.stdout.write(
                f"{count} of them on track {track}, machine {machine}: move_import brings an "
                "import from a wrong place here, delete_import removes it"
            )
        if report.is_empty:
            self.stdout.write(f"No file here can be imported: {READS} are read. {IN_ARCHIVES}")
        if report.artifacts:
            self.stdout.write(f"{plural(report.artifacts, 'artifact')} kept")
        if report.refused and not report.added and not report.existing:
            raise CommandError("Nothing could be imported: the reasons are above.")


def in_words(report: ImportReport) -> Iterator[str]:
    """What was understood of other tools' files."""
    for name, count in sorted(report.read.items()):
        if name != OURS:
            yield f"{plural(count, 'result')} of {name}"
    if report.left_out:
        names = ", ".join(f"{name} ({count})" for name, count in report.left_out.most_common())
        yield f"left out, because nobody said which of our metrics it is (--metric): {names}"


def key(text: str) -> str:
    """A key of a track or a machine; another text would lose letters."""
    try:
        if text:  # the default is checked as well
            TRACK_KEY(text)
            MaxLengthValidator(60)(text)
    except ValidationError as error:
        raise ArgumentTypeError(f"{text!r}: {' '.join(error.messages)}") from None
    return text


def table(path: str) -> Table:
    try:
        return parse_table(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"{path}: {error}") from None


def metric(text: str) -> tuple[str, tuple[str, float]]:
    try:
        return parse_metric_mapping(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def moment(text: str) -> datetime:
    """A time as ISO 8601; without a zone it is the site's."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a time: write it as 2026-11-21T03:00") from None
    return at if at.tzinfo else timezone.make_aware(at)
