"""manage.py replay_alert: the decision of an alert again, from what was stored with it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.alerts.core.replay import Replay, replay
from dashboard.detection import VERSION
from dashboard.models import Alert

SHOWN = 12  # points up to the one at which the detector was sure


class Command(BaseCommand):
    help = (
        "Print the decision of an alert again from its stored points, and whether today's "
        "detector would differ."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "alert", type=int, help="number of an alert; --group takes the number of a group"
        )
        parser.add_argument(
            "--group", action="store_true", help="replay every alert of the group of this number"
        )

    def handle(self, **options: Any) -> None:
        field = "group" if options["group"] else "pk"
        alerts = Alert.objects.filter(**{field: options["alert"]}).select_related(
            "series__benchmark", "series__config", "base", "new"
        )
        if not alerts:
            raise CommandError(
                f"There is no alert {field} {options['alert']}: /alerts/ lists them."
            )
        for alert in alerts:
            self._print(alert)

    def _print(self, alert: Alert) -> None:
        series = alert.series
        if not alert.decision.get("points"):
            raise CommandError(
                f"Alert {alert.pk} has no stored points: it was not made by the detector."
            )
        found = replay(alert.decision)
        write = self.stdout.write
        write(
            f"alert {alert.pk}: {series.metric} of {series.benchmark} in {series.config}, "
            f"{alert.base} → {alert.new}"
        )
        write(f"settings: {alert.decision['settings']}")
        write(f"points: {len(found.points)}, the last {min(SHOWN, len(found.points))}:")
        for line in self._lines(found):
            write(f"  {line}")
        write(f"decided by detector version {alert.detector_version}: {found.stored}")
        write(
            f"detector version {VERSION} decides:       "
            f"{found.today or 'nothing with these points'}"
        )
        write(
            "today's detector would differ"
            if found.differs
            else "today's detector decides the same"
        )

    @staticmethod
    def _lines(found: Replay) -> list[str]:
        first = max(0, len(found.points) - SHOWN)
        return [
            f"{index:5d}  {at}  "
            f"{point.value:.6g}{'  ← first of the new level' if index == found.index else ''}"
            for index, (point, at) in enumerate(zip(found.points, found.at, strict=True))
            if index >= first or index == found.index
        ]
