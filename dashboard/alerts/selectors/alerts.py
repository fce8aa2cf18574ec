"""What the alert pages, the feed and the messages read: the inbox, its counts, and one group with
its evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange, effect, levels, metric_of
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Cause,
    Direction,
    Kind,
    Machine,
    Series,
    Severity,
    Track,
)

OPEN = (
    AlertState.SUSPECTED,
    AlertState.CONFIRMING,
    AlertState.CONFIRMED,
    AlertState.ACKNOWLEDGED,
    AlertState.INCONCLUSIVE,
)
EVERYTHING = "all"
NOBODY = "nobody"
RANK: dict[str, int] = {
    severity: rank for rank, severity in enumerate((Severity.HIGH, Severity.MEDIUM, Severity.LOW))
}
_PLAIN = {  # filter -> the field that it compares
    "severity": "severity",
    "cause": "cause",
    "kind": "kind",
    "machine": "machine__key",
    "track": "track__key",
}
FILTERS = (
    "state",
    "severity",
    "cause",
    "direction",
    "kind",
    "machine",
    "track",
    "family",
    "assignee",
)


def choices() -> dict[str, list[str]]:
    """What each filter of the inbox can be set to. Four queries."""
    families = Series.objects.filter(alerts__isnull=False).values_list(
        "benchmark__family", flat=True
    )
    assigned = (
        get_user_model()
        .objects.filter(alert_groups__isnull=False)
        .values_list("username", flat=True)
    )
    return {
        "state": [EVERYTHING, *AlertState.values],
        "severity": [*RANK],
        "cause": Cause.values,
        "direction": [EVERYTHING, *Direction.values],
        "kind": Kind.values,
        "machine": list(Machine.objects.values_list("key", flat=True)),
        "track": list(Track.objects.values_list("key", flat=True)),
        "family": sorted(set(families)),
        "assignee": [NOBODY, *sorted(set(assigned))],
    }


def listing(chosen: Mapping[str, str]) -> QuerySet[AlertGroup]:
    """Groups that fit the filters, newest first.

    Without a state only open ones; without a direction no improvements: those are shown when asked
    for.
    """
    found = AlertGroup.objects.select_related("machine", "track", "base", "new", "assignee")
    found = found.filter(
        **{field: chosen[name] for name, field in _PLAIN.items() if chosen.get(name)}
    )
    found = _by_state(found, chosen.get("state", ""))
    found = _by_direction(found, chosen.get("direction", ""))
    if family := chosen.get("family"):
        found = found.filter(
            Exists(Alert.objects.filter(group=OuterRef("pk"), series__benchmark__family=family))
        )
    if assignee := chosen.get("assignee"):
        found = found.filter(
            Q(assignee=None) if assignee == NOBODY else Q(assignee__username=assignee)
        )
    return found.order_by("-created_at", "-pk")


def _by_state(found: QuerySet[AlertGroup], state: str) -> QuerySet[AlertGroup]:
    if state == EVERYTHING:
        return found
    return found.filter(state=state) if state else found.filter(state__in=OPEN)


def _by_direction(found: QuerySet[AlertGroup], direction: str) -> QuerySet[AlertGroup]:
    if direction == EVERYTHING:
        return found
    return (
        found.filter(direction=direction)
        if direction
        else found.exclude(direction=Direction.IMPROVEMENT)
    )


def with_counts(found: QuerySet[AlertGroup]) -> QuerySet[AlertGroup]:
    """Each group with ``series``, the number of its alerts."""
    return found.annotate(series=Count("alerts"))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many groups of a selection have which severity and cause.

    rows: (severity, number, [number by cause, in the order of causes]), worst first. causes: those
        that occur.
    """

    causes: list[str]
    rows: list[tuple[str, int, list[tuple[str, int]]]]
    total: int


def tally(found: QuerySet[AlertGroup]) -> Tally:
    """The groups of ``found`` by severity and cause. One query."""
    rows = (
        found.order_by()
        .values_list("severity", "cause")
        .annotate(number=Count("pk", distinct=True))
    )
    return tallied({(severity, cause): number for severity, cause, number in rows})


def tallied(counts: Mapping[tuple[str, str], int]) -> Tally:
    """The tally of numbers by (severity, cause)."""
    causes = [cause for cause in Cause.values if any(cause == known for _, known in counts)]
    severities = [severity for severity in RANK if any(severity == known for known, _ in counts)]
    table = []
    for severity in severities:
        by_cause = [(cause, counts.get((severity, cause), 0)) for cause in causes]
        table.append((str(severity), sum(number for _, number in by_cause), by_cause))
    return Tally(causes, table, sum(counts.values()))


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """One alert in words. words: the status words before and after, of an alert about the status;
    else empty.

    levels: the two that `change` lies between: "from 17.31 to 18.38 ms"; empty where they are not
        known.
    again: how it changed in the confirmation's processes, in so many rounds; None where they do not
        tell.
    """

    alert: Alert
    metric: Metric
    change: ValueChange | None
    words: Sequence[str] = ()
    levels: str = ""
    again: ValueChange | None = None
    rounds: int = 0

    @property
    def sentence(self) -> str:
        """It in a line: "gpt2.….b8, inductor: latency 6.2 % slower (5.1 to 7.4 %), from 17.31 to
        18.38 ms".
        """
        series = self.alert.series
        what = (
            f"{self.words[1]} (was {self.words[0]})"
            if self.words
            else self.change.text
            if self.change
            else "changed"
        )
        told = f"{series.benchmark.name}, {series.config.name}: {self.metric.label.lower()} {what}"
        return f"{told}, {self.levels}" if self.levels else told

    @property
    def can_show(self) -> float | None:
        """The smallest change in percent that the series shows in nine of ten cases."""
        detector = getattr(self.alert.series, "detector", None)
        return detector.can_show_percent if detector else None

    @property
    def size(self) -> float:
        """How far it moved, against the metric's own threshold: what is sorted by."""
        return abs(self.alert.effect or 0) / (self.metric.threshold_percent or 1)


def told(alert: Alert) -> AlertSummary:
    metric = metric_of(alert.series.metric)
    if words := alert.decision.get("words"):
        return AlertSummary(alert, metric, None, words)
    between = levels(metric, *alert.levels) if alert.levels else ""
    change = effect(metric, alert.effect, alert.low, alert.high, alert.unit)
    if not (found := alert.decision.get("confirmation")):
        return AlertSummary(alert, metric, change, levels=between)
    again = effect(metric, found["effect"], found["low"], found["high"], found["unit"])
    return AlertSummary(alert, metric, change, levels=between, again=again, rounds=found["pairs"])


def alerts_of(groups: Iterable[int]) -> list[AlertSummary]:
    """Every alert of the groups: representatives that were re-measured first, then by size. One
    query.
    """
    found = Alert.objects.filter(group__in=list(groups)).select_related(
        "series__benchmark",
        "series__config",
        "series__machine",
        "series__track",
        "series__detector",
        "job",
        "base",
        "new",
        "group",
    )
    return sorted(
        map(told, found), key=lambda one: (not one.alert.confirmation, not one.words, -one.size)
    )


def sides(rows: Iterable[AlertSummary]) -> dict[str, list[AlertSummary]]:
    """Alerts by direction, what got worse first: a trade-off shows both sides."""
    by_direction: dict[str, list[AlertSummary]] = {
        "regression": [],
        "improvement": [],
        "neutral": [],
    }
    for row in rows:
        by_direction.setdefault(row.alert.direction, []).append(row)
    return {direction: found for direction, found in by_direction.items() if found}
