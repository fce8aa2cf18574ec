"""manage.py cancel_run: cancel what has not ended of a run."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.language.wording import plural
from dashboard.management.site_command import SiteCommand
from dashboard.models import Run
from dashboard.runs.services.runs import cancel_run


class Command(SiteCommand):
    help = "Cancel the jobs of a run that have not ended; what was measured stays."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", type=int, help="number of the run, as its address has it")

    def handle(self, *, run: int, **_: Any) -> None:
        row = Run.objects.filter(pk=run).first()
        if row is None:
            raise CommandError(f"There is no run {run}: /runs/ lists them.")
        self.stdout.write(f"{plural(cancel_run(run=row), 'job')} cancelled")
