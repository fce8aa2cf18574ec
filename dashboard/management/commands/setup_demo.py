"""manage.py setup_demo: what `make demo` needs in the database."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.demo.services.history_replay import replay_history
from dashboard.demo.services.local_setup import ensure_admin
from dashboard.language.contracts import Refused
from dashboard.management.commands.setup_local import add_setup_arguments, in_words, read_json
from dashboard.management.site_command import SiteCommand
from dashboard.results.services.import_files import sources_in
from dashboard.results.services.imports import import_results
from dashboard.runs.services.partitions import ensure_coming_partitions

HISTORY = "_history"  # how the name of a folder ends whose results are played in their order
# Generated code of a history: a folder in it, with archives named by their kernels' fingerprint
CODE, PACKED = "code", ".tar.xz"


class Command(SiteCommand):
    help = (
        "Make the admin account, import recorded results and play recorded histories, where "
        "they are missing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths",
            nargs="+",
            type=Path,
            help=f"as of import_results; a folder named …{HISTORY} is played, with alerts",
        )
        add_setup_arguments(parser)

    def handle(self, **options: Any) -> None:
        ensure_coming_partitions(now=timezone.now())
        sync_catalog(catalog=read_json(options["catalog"]), retire=True)
        password = ensure_admin()
        histories = [path for path in options["paths"] if path.name.endswith(HISTORY)]
        others = [path for path in options["paths"] if path not in histories]
        added = _import(others) + sum(map(_play, histories))
        made = {"admin_password": password, "worker_token": None, "first_run": None, "added": added}
        self.stdout.write(in_words(made, as_json=options["json"]))


def _import(paths: list[Path]) -> int:
    """How many results are new."""
    report = import_results(
        sources=(source for path in paths for source in sources_in(path)), label="Recorded"
    )
    if report.refused:
        lines = [f"{name}: refused: {reason}" for name, reason in report.refused]
        raise CommandError("\n".join(lines))
    return report.added


def _play(folder: Path) -> int:
    """How many results are new: those of a history that was not played before."""
    code = {}
    for archive in folder.glob(f"{CODE}/*{PACKED}"):
        code[archive.name.removesuffix(PACKED)] = archive.read_bytes()
    key = folder.name.replace("_", "-")
    try:
        return replay_history(key=key, sources=sources_in(folder), code=code)
    except (Refused, PlanError) as error:
        raise CommandError(f"{folder} cannot be played: {error}") from None
