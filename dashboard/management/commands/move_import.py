"""manage.py move_import: move what imports brought to another track or machine."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet

from dashboard.management.commands import delete_import, import_results
from dashboard.models import Run
from dashboard.results.services.change_imports import move_import


class Command(delete_import.Command):
    help = "Move imported results to another track or machine; alerts are made again there."
    done = "moved"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--to-track", type=import_results.key, default="", help="its key")
        parser.add_argument("--to-machine", type=import_results.key, default="", help="its key")

    def handle(self, **options: Any) -> None:
        if not (options["to_track"] or options["to_machine"]):
            raise CommandError("Say where to: --to-track, --to-machine, or both.")
        super().handle(**options)

    def change(self, runs: QuerySet[Run], options: dict[str, Any]) -> int:
        return move_import(runs=runs, track=options["to_track"], machine=options["to_machine"])
