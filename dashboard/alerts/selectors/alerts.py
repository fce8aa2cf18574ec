"""Alerts for their pages, the feed and the messages: the inbox, its counts, alerts in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet
from django.db.models.functions import JSONObject

from dashboard.alerts.core import change_size, grouping
from dashboard.alerts.core.costs import Cost, cost_of
from dashboard.alerts.selectors.evidence import surest, suspicion_of
from dashboard.language import states
from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange, levels, metric_of, named
from dashboard.models import (
    Alert,
    AlertGroup,
    Direction,
    EvidenceState,
    Severity,
    WorkflowState,
)
from dashboard.models.alert_words import IN_WORK, OVER
from dashboard.ui.original_names import with_original_names

_OPEN_EVIDENCE = [state for state in EvidenceState if state not in OVER]
OPEN = Q(workflow_state__in=IN_WORK, evidence_state__in=_OPEN_EVIDENCE)
"""Groups that nobody has closed, and that have not ended by themselves."""
OF_OPEN_GROUP = Q(group__workflow_state__in=IN_WORK, group__evidence_state__in=_OPEN_EVIDENCE)
"""Alerts of such a group."""
OF_STANDING_GROUP = OF_OPEN_GROUP | Q(group__workflow_state=WorkflowState.WONTFIX)
"""Alerts of a group to which more of the same belongs."""
WITHDRAWN = Q(decision__has_key="withdrawn")
_REFUTED = Q(group__evidence_state=EvidenceState.NOT_REPRODUCED)
STANDING = ~(WITHDRAWN | _REFUTED | Q(group__workflow_state=WorkflowState.INVALID))
"""Alerts that nobody and nothing has taken back, whoever closed them."""
EVERYTHING = "all"
NOBODY = "nobody"
RANK: dict[str, int] = {Severity.HIGH: 0, Severity.MEDIUM: 1, Severity.LOW: 2}
_PLAIN = {  # filter -> the field that it compares
    "severity": "severity",
    "cause": "cause",
    "kind": "kind",
    "evidence_state": "evidence_state",
    "workflow_state": "workflow_state",
    "machine": "machine__key",
    "track": "track__key",
}
_RELATED = (
    "series__benchmark",
    "series__config",
    "series__machine",
    "series__track",
    "series__detector",
    "job",
    "base",
    "new",
)
_IN_WORDS = (  # what a sentence about an alert needs of it, next to its decision in brief
    "group",
    "planned_at",
    "direction",
    "effect",
    "low",
    "high",
    "unit",
    "confirmation",
    "series__metric",
    "series__benchmark__name",
    "series__config__name",
)
_LARGE = ("series__detector__state", "job__log_tail")  # which nothing in words needs
DECISION_IN_BRIEF = JSONObject(
    words="decision__words",
    confirmation="decision__confirmation",
    withdrawn="decision__withdrawn",
    verdict=JSONObject(
        level_before="decision__verdict__level_before", level_after="decision__verdict__level_after"
    ),
)
"""What `Alert.decided` needs of a decision, without its points."""


def listing(chosen: Mapping[str, str]) -> QuerySet[AlertGroup]:
    """Groups that fit the filters, newest first.

    Without any state only open ones; without a direction no improvements: those are shown when
    asked for.
    """
    groups = AlertGroup.objects.select_related("machine", "track", "base", "new", "assignee")
    for name, field in _PLAIN.items():
        if value := chosen.get(name):
            groups = groups.filter(**{field: value})
    state, direction = chosen.get("state"), chosen.get("direction")
    if state:
        groups = groups.filter(_with_state(state))
    elif not chosen.get("evidence_state") and not chosen.get("workflow_state"):
        groups = groups.filter(OPEN)
    if not direction:
        groups = groups.exclude(direction=Direction.IMPROVEMENT)
    elif direction != EVERYTHING:
        groups = groups.filter(direction=direction)
    if family := chosen.get("family"):
        of_family = Alert.objects.filter(group=OuterRef("pk"), series__benchmark__family=family)
        groups = groups.filter(Exists(of_family))
    assignee = chosen.get("assignee")
    if assignee == NOBODY:
        groups = groups.filter(assignee=None)
    elif assignee:
        groups = groups.filter(assignee__username=assignee)
    return groups.order_by("-created_at", "-pk")


def is_measurable(alerts: Iterable[Alert]) -> bool:
    """True where some can be measured again here: another tool's benchmarks cannot."""
    return not all(alert.series.benchmark.imported for alert in alerts)


def _with_state(state: str) -> Q:
    """The groups whose `state` is this word; all for EVERYTHING."""
    if state == EVERYTHING:
        return Q()
    if state == WorkflowState.ACKNOWLEDGED:
        return OPEN & Q(workflow_state=state)
    if state in WorkflowState.values:
        return Q(workflow_state=state)
    workflow = IN_WORK if state in OVER else (WorkflowState.NEW,)
    return Q(evidence_state=state, workflow_state__in=workflow)


def with_counts(groups: QuerySet[AlertGroup]) -> QuerySet[AlertGroup]:
    """Each group with ``series``, the number of its alerts that were not withdrawn."""
    standing = ~Q(alerts__decision__has_key="withdrawn")
    return groups.annotate(series=Count("alerts", filter=standing))


def with_alerts(groups: QuerySet[AlertGroup]) -> QuerySet[AlertGroup]:
    """Each group with what a sentence about each of its alerts needs. One query more.

    Without their jobs, their detectors and the points of their decisions, which would be most of
    what a long list reads.
    """
    related = Alert.objects.select_related("series__benchmark", "series__config")
    alerts = related.only(*_IN_WORDS).annotate(decision_in_brief=DECISION_IN_BRIEF)
    return groups.prefetch_related(Prefetch("alerts", queryset=alerts))


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """One alert in words.

    words: the status words before and after, of an alert about the status; else empty.
    change: its size, as confirmed where it is.
    first: the detector's first estimate, where another one has replaced it.
    levels: the two that the first estimate lies between: "from 17.31 to 18.38 ms"; empty where not
        known.
    again: how it changed in the confirmation's processes; None where they do not say, and of a
        status.
    rounds: how many processes of each build that were; 0: it was not measured again.
    """

    alert: Alert
    metric: Metric
    change: ValueChange | None
    words: Sequence[str] = ()
    levels: str = ""
    again: ValueChange | None = None
    rounds: int = 0
    first: ValueChange | None = None

    @property
    def sentence(self) -> str:
        """ "gpt2.….b8, inductor: latency 6.2% slower (5.1 to 7.4%), from 17.31 to 18.38 ms"."""
        series = self.alert.series
        if self.words:
            before, what = map(states.label, self.words)
            if before:
                what += f" (was {before})"
        else:
            what = named(self.metric, self.change.text if self.change else "changed")
        names = with_original_names(f"{series.benchmark.name}, {series.config.name}")
        sentence = f"{names}: {what}"
        if self.levels and not self.first:
            sentence += f", {self.levels}"
        if self.alert.is_smaller and self.first:
            sentence += f"; first estimated {self.first.text}"
        return sentence

    @property
    def estimate(self) -> ValueChange | None:
        """`change` without its interval: "6.2% slower", "at least 79.3% slower"."""
        return change_size.estimate(self.metric, *self.alert.size)

    @property
    def interval(self) -> str:
        """Part of `change` that `estimate` leaves out: "5.1 to 7.4% slower"; empty where none."""
        return change_size.details(self.metric, *self.alert.size)

    @property
    def can_show(self) -> float | None:
        """The smallest change in percent that the series shows in nine of ten cases."""
        detector = getattr(self.alert.series, "detector", None)
        return detector.can_show_percent if detector else None

    @property
    def cost(self) -> Cost:
        """Cost by which queues are ordered."""
        if self.words:
            return Cost("failure", "fails", weight=1.0)
        effect, level = self.alert.size.effect or 0.0, self.alert.levels
        return cost_of(self.metric, effect, self.alert.size.unit, level[0] if level else None)

    @property
    def size(self) -> float:
        """Size of the move, in what its severity is measured in: sorted by that, the first change
        is the one that the title begins with.
        """
        return abs(self.alert.size.effect or 0) / (self.metric.severity_percent or 1)


def summarize(alert: Alert) -> AlertSummary:
    metric = metric_of(alert.series.metric)
    outcome = alert.decided.get("confirmation")
    rounds = outcome["pairs"] if outcome else 0
    if words := alert.decided.get("words"):
        return AlertSummary(alert, metric, None, words, rounds=rounds)
    between = levels(metric, *alert.levels) if alert.levels else ""
    change = change_size.in_words(metric, alert.effect, alert.low, alert.high, alert.unit)
    if not outcome:
        return AlertSummary(alert, metric, change, levels=between)
    measured = (outcome["effect"], outcome["low"], outcome["high"], outcome["unit"])
    again = change_size.in_words(metric, *measured)
    summary = AlertSummary(alert, metric, change, levels=between, again=again, rounds=rounds)
    if alert.confirmation != EvidenceState.CONFIRMED:
        return summary
    return replace(summary, change=again, first=change)


def alerts_of(groups: Iterable[int]) -> list[AlertSummary]:
    """Every alert of the groups, `in_order`. One query."""
    return summaries_of(Alert.objects.filter(group__in=list(groups)).select_related("group"))


def of_group(group: AlertGroup) -> list[AlertSummary]:
    """`alerts_of` one group that has been read already. One query, without reading it again."""
    return summaries_of(group.alerts.all())


def summaries_of(alerts: QuerySet[Alert]) -> list[AlertSummary]:
    """These alerts in words, `in_order`. One query."""
    return in_order(_summaries(alerts))


def _summaries(alerts: QuerySet[Alert]) -> Iterable[AlertSummary]:
    return map(summarize, alerts.select_related(*_RELATED).defer(*_LARGE))


def in_order(rows: Iterable[AlertSummary]) -> list[AlertSummary]:
    """Sort the rows: what got worse first, then what was measured again, then by size; last what
    did not come again when it was, and what was withdrawn.
    """
    return sorted(
        rows,
        key=lambda row: (
            row.alert.is_withdrawn,
            row.alert.confirmation == EvidenceState.NOT_REPRODUCED,
            row.alert.direction != Direction.REGRESSION,
            not row.alert.confirmation,
            not row.words,
            -row.size,
        ),
    )


def standing(rows: Sequence[AlertSummary]) -> list[AlertSummary]:
    """Return the rows that were not withdrawn; all where each was: the group is closed then."""
    return [row for row in rows if not row.alert.is_withdrawn] or list(rows)


def main_of(rows: Sequence[AlertSummary], key: str = "") -> AlertSummary | None:
    """The alert with this id, else the first; None where there is none."""
    for row in rows:
        if str(row.alert.pk) == key:
            return row
    return rows[0] if rows else None


def gain_of(rows: Sequence[AlertSummary], main: AlertSummary | None) -> str:
    """Describe what got better in the case whose main change got worse: "12.8% less memory".

    Empty where nothing did, or that is not confirmed and other alerts are. rows: in order.
    """
    if main is None or main.alert.direction != Direction.REGRESSION:
        return ""
    case = suspicion_of(main.alert).case
    for alert in surest([row.alert for row in rows]):
        suspicion = suspicion_of(alert)
        if suspicion.case == case and alert.direction == Direction.IMPROVEMENT:
            return grouping.sentence(suspicion)
    return ""


def changes_of(series: int) -> list[AlertSummary]:
    """List the changes of a series' level, oldest first. One query."""
    changes = Alert.objects.filter(STANDING, series=series).select_related("group")
    return list(_summaries(changes.order_by("planned_at", "pk")))


def by_direction(rows: Iterable[AlertSummary]) -> dict[str, list[AlertSummary]]:
    """Alerts by direction, what got worse first: a trade-off shows both sides; those that were
    withdrawn are last.
    """
    sides: dict[str, list[AlertSummary]] = {"regression": [], "improvement": [], "neutral": []}
    for row in rows:
        side = "withdrawn" if row.alert.is_withdrawn else row.alert.direction
        sides.setdefault(side, []).append(row)
    return {direction: of_side for direction, of_side in sides.items() if of_side}
