"""What messages are made of: an alert group in words, its chart, the events of a period."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings

from dashboard.alerts.selectors import alert_data, alert_page, alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.models import AlertEvent, AlertGroup, AlertState, Cause, Rule
from dashboard.notifications.core.rules import EventFacts, RuleSelection
from dashboard.notifications.transports.compose import Entry, SeriesLine
from dashboard.notifications.transports.picture import change_png

_CONFIRMED = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED)


def entry_of(event: AlertEvent) -> Entry:
    """The event's group as messages tell it, in the state that the event brought. About four
    queries.
    """
    group, rows = event.group, alerts.alerts_of([event.group_id])
    first = rows[0].alert if rows else None
    return Entry(
        id=group.pk,
        url=f"{settings.SITE_URL}{group.get_absolute_url()}",
        title=group.title,
        kind=group.kind,
        state=event.state,
        direction=group.direction,
        severity=group.severity,
        cause=group.cause,
        cause_in_words=_cause(group),
        evidence=[
            {key: str(fact.get(key, "")) for key in ("fact", "says", "supports")}
            for fact in group.evidence
        ],
        machine=group.machine.key if group.machine else None,
        track=group.track.key if group.track else None,
        base=group.base.label if group.base else None,
        new=group.new.label if group.new else None,
        commits=alert_page.commit_range(group),
        reproduce=alert_page.reproduce(first) if first else "",
        series=[_change(row) for row in rows],
        # That a group was opened says its title
        why="" if event.text == group.title else event.text,
    )


def _cause(group: AlertGroup) -> str:
    if group.cause == Cause.UNKNOWN:
        return "Unknown: no evidence points to one cause."
    return f"{str(group.get_cause_display()).capitalize()}."


def _change(row: AlertSummary) -> SeriesLine:
    alert, series = row.alert, row.alert.series
    return SeriesLine(
        series.benchmark.name,
        series.config.name,
        series.metric,
        alert.direction,
        alert.effect,
        alert.low,
        alert.high,
        alert.unit,
        row.sentence,
    )


def picture_of(group: AlertGroup) -> bytes | None:
    """The chart of the group's first alert as a PNG; None where it has no points to draw."""
    for row in alerts.alerts_of([group.pk])[:1]:
        seen = alert_data.around(row.alert)
        if seen.line is not None and len(seen.line.value) > 1:
            series = row.alert.series
            title = f"{row.metric.label} of {series.benchmark.name}, {series.config.name}"
            return change_png(seen.line, seen.step, title, row.metric.unit)
    return None


def facts_of(event: AlertEvent) -> EventFacts:
    """The event as rules see it. Two queries."""
    group, rows = event.group, alerts.alerts_of([event.group_id])
    sizes = [
        abs(row.alert.effect)
        for row in rows
        if row.alert.unit == "percent" and row.alert.effect is not None
    ]
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
        effect_percent=max(sizes) if sizes and len(sizes) == len(rows) else None,
    )


def wanted_of(rule: Rule) -> RuleSelection:
    """The rule as plain values. Two queries, none where machines and tracks were prefetched."""
    return RuleSelection(
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


def events_between(start: datetime, end: datetime) -> Iterable[AlertEvent]:
    """Every event after ``start`` up to ``end``, oldest first, with its group."""
    found = AlertEvent.objects.filter(at__gt=start, at__lte=end).order_by("at", "pk")
    return found.select_related("group__machine", "group__track", "group__base", "group__new")
