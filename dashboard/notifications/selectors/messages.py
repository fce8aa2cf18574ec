"""Content of messages: an alert group in words, its chart, the events of a period."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from dashboard.alerts.selectors import alert_data, alert_page, alerts
from dashboard.alerts.selectors.alerts import OPEN, RANK, AlertSummary
from dashboard.alerts.selectors.facts import cause_in_words
from dashboard.models import Alert, AlertEvent, AlertGroup, AlertState, Cause, Direction, Rule
from dashboard.notifications.core.rules import USUAL_STATES, EventFacts, RuleSelection
from dashboard.notifications.transports.compose import Entry, OpenAlert, SeriesLine
from dashboard.notifications.transports.picture import change_png
from dashboard.ui.original_names import with_original_names

_NEWS = {
    "handed over": "Handed over",
    "assigned": "Assigned",
}
_CONFIRMED = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.MISSING_REPORT)


def entry_of(event: AlertEvent) -> Entry:
    """The event's group for a message, in the state after the event. About four queries."""
    group = event.group
    rows = alerts.standing(alerts.of_group(group))
    first = rows[0].alert if rows else None
    cause = "Unknown: no evidence points to one cause."
    if group.cause != Cause.UNKNOWN:
        words = cause_in_words(group)
        cause = f"{words[0].upper()}{words[1:]}."
    return Entry(
        id=group.pk,
        url=f"{settings.SITE_URL}{group.get_absolute_url()}",
        title=with_original_names(group.title),
        kind=group.kind,
        state=event.state,
        evidence_state=group.evidence_state,
        workflow_state=group.workflow_state,
        direction=group.direction,
        severity=group.severity,
        cause=group.cause,
        cause_in_words=cause,
        evidence=[_evidence(fact) for fact in group.evidence],
        machine=group.machine.key if group.machine else None,
        track=group.track.key if group.track else None,
        base=group.base.label if group.base else None,
        new=group.new.label if group.new else None,
        commits=alert_page.commit_range(group),
        reproduce=alert_page.reproduce(first) if first else "",
        series=[_change(row) for row in rows],
        # When the group was opened, its title says it all
        why="" if event.text == group.title else _sentence(event),
        news=_NEWS.get(event.action, ""),
        assignee=group.assignee.username if group.assignee else None,
    )


def _sentence(event: AlertEvent) -> str:
    """Describe the event; for a state give the reason alone, as the state stands next to it."""
    if event.action == "assigned" and event.text == f"to {event.group.assignee}":
        return ""  # who has it stands next to it
    if event.action in {"handed over", "assigned"}:
        return f"{event.action.capitalize()} {event.text}"
    return event.text


def _evidence(fact: dict[str, Any]) -> dict[str, str]:
    return {key: str(fact.get(key, "")) for key in ("fact", "says", "supports")}


def _change(row: AlertSummary) -> SeriesLine:
    alert = row.alert
    return SeriesLine(
        benchmark=alert.series.benchmark.name,
        config=alert.series.config.name,
        metric=alert.series.metric,
        direction=alert.direction,
        effect=alert.size.effect,
        low=alert.size.low,
        high=alert.size.high,
        unit=alert.size.unit,
        text=row.sentence,
    )


def picture_of(group: AlertGroup) -> bytes | None:
    """The chart of the group's first alert as a PNG; None where it has no points to draw."""
    rows = alerts.standing(alerts.of_group(group))
    if not rows:
        return None
    first = rows[0]
    series = first.alert.series
    step = alert_data.step_of(first.alert)
    line = alert_data.line_around(series, step)
    if line is None or len(line.value) < 2:
        return None
    title = with_original_names(f"{first.metric.label} of {series.benchmark}, {series.config}")
    return change_png(line, step, title, first.metric.unit)


def facts_of(event: AlertEvent) -> EventFacts:
    """The event as rules see it. Two queries."""
    group = event.group
    rows = alerts.standing(alerts.of_group(group))
    return EventFacts(
        action=event.action,
        state=event.state,
        was_confirmed=group.events.filter(state__in=_CONFIRMED, pk__lte=event.pk).exists(),
        direction=group.direction,
        severity=group.severity,
        families={row.alert.series.benchmark.family for row in rows},
        models={row.alert.series.benchmark.model for row in rows},
        metrics={row.alert.series.metric for row in rows},
        machine=group.machine_id,
        track=group.track_id,
        effect_percent=_largest_percent([row.alert for row in rows]),
    )


def _largest_percent(group: Sequence[Alert]) -> float | None:
    """The largest change of a group; None unless all of its alerts have one in percent."""
    sizes: list[float] = []
    for alert in group:
        if alert.size.unit != "percent" or alert.size.effect is None:
            return None
        sizes.append(abs(alert.size.effect))
    return max(sizes, default=None)


def selection_of(rule: Rule) -> RuleSelection:
    """The rule as plain values. Two queries, none where machines and tracks were prefetched."""
    return RuleSelection(
        subjects=rule.subjects,
        families=rule.families,
        models=rule.model_names,
        metrics=rule.metric_keys,
        machines={machine.pk for machine in rule.machines.all()},
        tracks={track.pk for track in rule.tracks.all()},
        minimum_effect_percent=rule.minimum_effect_percent,
        minimum_severity=rule.minimum_severity,
        states=rule.states,
        improvements=rule.improvements,
    )


def open_alert(group: AlertGroup) -> OpenAlert:
    """The group as a digest lists what is still open."""
    return OpenAlert(
        id=group.pk,
        url=f"{settings.SITE_URL}{group.get_absolute_url()}",
        title=with_original_names(group.title),
        severity=group.severity,
        state=group.state,
        assignee=group.assignee.username if group.assignee else None,
        opened_at=group.created_at.isoformat(timespec="seconds"),
    )


def events_of_open(rule: Rule, end: datetime) -> Iterable[AlertEvent]:
    """Last event, in a state that the rule selects, of each open group that got worse, the most
    severe first.
    """
    groups = AlertGroup.objects.filter(OPEN).exclude(direction=Direction.IMPROVEMENT)
    events = AlertEvent.objects.filter(
        group__in=groups,
        action__in=("opened", "state"),
        state__in=rule.states or USUAL_STATES,
        at__lte=end,
    )
    newest_first = events.order_by("group_id", "-at", "-pk").select_related("group__assignee")
    last = newest_first.distinct("group_id")
    return sorted(last, key=lambda event: (RANK[event.group.severity], event.group.created_at))


def events_between(start: datetime, end: datetime) -> Iterable[AlertEvent]:
    """Every event after ``start`` up to ``end``, oldest first, with its group."""
    events = AlertEvent.objects.filter(at__gt=start, at__lte=end).order_by("at", "pk")
    return events.select_related(
        "group__machine", "group__track", "group__base", "group__new", "group__assignee"
    )
