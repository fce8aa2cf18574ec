"""manage.py replay_history: what the detector would have reported under other settings."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dashboard.alerts.core.history_replay import ReportedChange
from dashboard.alerts.selectors.evidence import ALERTING
from dashboard.alerts.selectors.history_replay import (
    NO_ALERT,
    RIGHT,
    UNDECIDED,
    WRONG,
    SeriesReplay,
    replay_all,
)
from dashboard.detection import VERSION
from dashboard.language.moments import stamp
from dashboard.language.wording import signed
from dashboard.management.site_command import SiteCommand

COUNTS = ("points", "both", "only today", "only with these")


class Command(SiteCommand):
    help = (
        "Print which changes this version of the detector reports of the stored histories with "
        "today's settings and with others, and what became of the alerts. Nothing is stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--threshold-percent", type=float, help="instead of each metric's own")
        parser.add_argument(
            "--least", type=float, help="smallest change in the metric's unit, instead of its own"
        )
        parser.add_argument("--days", type=int, default=365, help="changes seen in so many days")
        parser.add_argument("--metric", default="", help="only this one; needed with --least")
        parser.add_argument("--machine", default="", help="key of a machine; else all of them")

    def handle(self, **options: Any) -> None:
        metric, settings = options["metric"], dict[str, float]()
        if metric and metric not in ALERTING:
            raise CommandError(f"{metric} raises no alerts; those that do: {', '.join(ALERTING)}")
        for name in ("threshold_percent", "least"):
            if options[name] is not None:
                settings[name] = options[name]
        if "least" in settings and not metric:
            raise CommandError("--least is in a metric's own unit: name the metric with --metric")
        since = timezone.now() - timedelta(days=options["days"])
        by_metric: dict[str, Counter[str]] = {}
        try:
            replays = replay_all(
                since=since, settings=settings, metric=metric, machine=options["machine"]
            )
            for replayed in replays:
                counts = by_metric.setdefault(replayed.series.metric, Counter())
                counts.update(_counts(replayed))
                for line in _lines(replayed):
                    self.stdout.write(line)
        except ValueError as error:
            raise CommandError(str(error)) from error
        self._summarize(by_metric)

    def _summarize(self, by_metric: dict[str, Counter[str]]) -> None:
        write = self.stdout.write
        write(
            f"Detector {VERSION}. Of each metric: changes reported with both settings, with today's"
        )
        write("only, and with these only; and what became of the alerts.")
        for metric, counts in sorted(by_metric.items()):
            if not counts["points"]:
                continue
            shown = [f"{name} {counts[name]}" for name in COUNTS]
            for name in COUNTS[1:]:
                of_name = [
                    f"{counts[f'{name} {outcome}']} {outcome}"
                    for outcome in (RIGHT, WRONG, UNDECIDED, NO_ALERT)
                    if counts[f"{name} {outcome}"]
                ]
                if of_name:
                    shown.append(f"{name}: {', '.join(of_name)}")
            write(f"{metric}: {'; '.join(shown)}")


def _groups(replayed: SeriesReplay) -> Iterator[tuple[str, list[ReportedChange]]]:
    changes = replayed.changes
    yield from zip(COUNTS[1:], (changes.both, changes.only_first, changes.only_second), strict=True)


def _counts(replayed: SeriesReplay) -> Counter[str]:
    counts = Counter({"points": replayed.points})
    for name, changes in _groups(replayed):
        counts[name] += len(changes)
        for change in changes:
            counts[f"{name} {replayed.outcomes[change.position]}"] += 1
    return counts


def _lines(replayed: SeriesReplay) -> Iterator[str]:
    """ "only today: latency_ms of mlp… in inductor on cpu-2c, 2026-11-02: +10.5 percent, right"."""
    series = replayed.series
    where = f"{series.metric} of {series.benchmark} in {series.config} on {series.machine.key}"
    for name, changes in _groups(replayed):
        if name == "both":
            continue
        for change in changes:
            effect = f"{signed(change.effect)} {change.unit}"
            outcome = replayed.outcomes[change.position]
            yield f"{name}: {where}, {stamp(change.at)}: {effect}, {outcome}"
