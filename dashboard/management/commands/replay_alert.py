"""manage.py replay_alert: the decision of an alert again, from what was stored with it."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser

from dashboard.alerts.core.replay import Replay, replay
from dashboard.detection import VERSION
from dashboard.management.site_command import SiteCommand
from dashboard.models import Alert

SHOWN = 12  # points up to the one at which the detector was sure


class Command(SiteCommand):
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
            raise CommandError(_unknown(field, options["alert"]))
        for alert in alerts:
            self._print(alert)

    def _print(self, alert: Alert) -> None:
        series = alert.series
        if not alert.decision.get("points"):
            raise CommandError(
                f"Alert {alert.pk} has no stored points: it was not made by the detector."
            )
        replayed = replay(alert.decision)
        differs = "would differ" if replayed.differs else "decides the same"
        shown = min(SHOWN, len(replayed.points))
        write = self.stdout.write
        write(
            f"alert {alert.pk}: {series.metric} of {series.benchmark} in {series.config}, "
            f"{alert.base} → {alert.new}"
        )
        write(f"settings: {alert.decision['settings']}")
        write(f"points: {len(replayed.points)}, the last {shown}:")
        for line in _lines(replayed):
            write(f"  {line}")
        write(f"decided by detector version {alert.detector_version}: {replayed.stored}")
        today = replayed.today or "nothing with these points"
        write(f"detector version {VERSION} decides:       {today}")
        write(f"today's detector {differs}")


def _unknown(field: str, number: int) -> str:
    if field == "group":
        return f"There is no group {number}: /alerts/ lists them."
    return (
        f"There is no alert {number}. For the number in the address of an alert's page, which is "
        "that of its group, add --group."
    )


def _lines(replayed: Replay) -> Iterator[str]:
    """The first point of the new level, and the last points."""
    first_shown = max(0, len(replayed.points) - SHOWN)
    for index, (point, at) in enumerate(zip(replayed.points, replayed.at, strict=True)):
        line = f"{index:5d}  {at}  {point.value:.6g}"
        if index == replayed.index:
            yield f"{line}  ← first of the new level"
        elif index >= first_shown:
            yield line
