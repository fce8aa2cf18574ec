"""manage.py delete_import: delete what imports brought to a track or a machine."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import QuerySet

from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Purpose, Run
from dashboard.results.services.change_imports import delete_import


class Command(SiteCommand):
    help = "Delete imported results with their series and alerts; what was measured here stays."
    done = "deleted"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--track", required=True, help="key of the track of their series")
        parser.add_argument("--machine", default="", help="key of the machine; else of each")
        parser.add_argument("--label", default="", help="of the import; else each import")
        parser.add_argument("--dry-run", action="store_true", help="count, change nothing")

    def handle(self, **options: Any) -> None:
        runs = Run.objects.filter(purpose=Purpose.IMPORT, track__key=options["track"])
        if options["machine"]:
            runs = runs.filter(machine__key=options["machine"])
        if options["label"]:
            runs = runs.filter(label=options["label"])
        if not runs.exists():
            raise CommandError("There is no such import: Import results in the admin lists them.")
        if options["dry_run"]:
            count = runs.filter(jobs__isnull=False).values("jobs").count()
            self.stdout.write(f"{plural(count, 'result')} would be {self.done}")
        else:
            self.stdout.write(f"{plural(self.change(runs, options), 'result')} {self.done}")

    def change(self, runs: QuerySet[Run], options: dict[str, Any]) -> int:
        return delete_import(runs=runs)
