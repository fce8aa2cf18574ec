"""manage.py follow_runs: a line in the terminal whenever a job ends."""

import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections
from django.utils import timezone

from dashboard.runs.selectors.progress import ended_since, lines


class Command(BaseCommand):
    help = (
        "Print a line whenever a job ends, and how far its run is, until stopped. `make up` "
        "runs it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks")

    def handle(self, *, every: float, **_: Any) -> None:
        seen = timezone.now()
        while True:
            time.sleep(every)
            try:
                seen = self._print_ended(seen)
            except OperationalError:  # the database restarts: look again with a new connection
                close_old_connections()

    def _print_ended(self, seen: Any) -> Any:
        """Print what ended after `seen`; when the last of it did."""
        jobs = ended_since(seen)
        for line in lines(jobs, timezone.now()):
            self.stdout.write(line)
        self.stdout.flush()
        return jobs[-1].finished_at if jobs else seen
