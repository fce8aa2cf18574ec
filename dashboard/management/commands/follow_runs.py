"""manage.py follow_runs: a line in the terminal whenever a job ends."""

from typing import Any

from django.core.management.base import CommandParser

from dashboard.management.site_command import SiteCommand
from dashboard.site.progress_lines import LOOK_EVERY_S, follow


class Command(SiteCommand):
    help = "Print a line whenever a job ends, and how far its run is, until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every", type=float, default=LOOK_EVERY_S, help="seconds between two looks"
        )

    def handle(self, *, every: float, **_: Any) -> None:
        def write(line: str) -> None:
            self.stdout.write(line)
            self.stdout.flush()

        follow(write, every)
