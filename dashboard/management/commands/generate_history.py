"""manage.py generate_history --series 20000 --points 500: a made-up history of that size."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from dashboard.demo.services.generated import KEY, generate_history, remove_history
from dashboard.demo.services.generated_alerts import generate_alerts
from dashboard.management.site_command import SiteCommand
from dashboard.models import Machine


class Command(SiteCommand):
    help = (
        "Write a made-up history, on a machine and a track called “generated”, to try the "
        "site at that size."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--series", type=int, default=480, help="how many series (case × metric)"
        )
        parser.add_argument(
            "--points",
            type=int,
            default=60,
            help="how many nights, one datum of each series a night",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="the same seed makes the same numbers"
        )
        parser.add_argument(
            "--remove", action="store_true", help="delete what was generated instead"
        )

    def handle(self, *, series: int, points: int, seed: int, remove: bool, **_: Any) -> None:
        if remove:
            remove_history()
            self.stdout.write(f"Everything on machine “{KEY}” is deleted.")
            return
        if series < 1 or points < 2:
            raise CommandError("--series must be 1 or more and --points 2 or more.")
        if Machine.objects.filter(key=KEY).exists():
            raise CommandError(
                "There is a generated history already: delete it first with --remove."
            )
        written = generate_history(
            series=series, points=points, seed=seed, now=timezone.now(), progress=self._progress
        )
        self.stdout.write(
            f"Wrote {written.series} series, {written.jobs} jobs and {written.data} data."
        )
        self.stdout.write(
            f"The detector found changes in them: {generate_alerts(machine=KEY)} alert groups."
        )

    def _progress(self, done: int, of: int) -> None:
        self.stdout.write(f"{done} of {of} cases")
