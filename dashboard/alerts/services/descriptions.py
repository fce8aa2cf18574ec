"""Brings a group's title, direction and severity up to date with its alerts."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from dashboard.alerts.core import grouping
from dashboard.alerts.selectors.evidence import alerting_series_count, surest, suspicion_of
from dashboard.alerts.services.history import lock
from dashboard.language.moments import stamp
from dashboard.language.wording import metric_of
from dashboard.models import Alert, AlertGroup, Kind, Series


def describe(*, groups: Iterable[AlertGroup]) -> None:
    """Describe the groups again; missing data, and a group without alerts, keep what they say.

    The groups are brought up to date: a person may have closed one since it was read.
    """
    for group in groups:
        with transaction.atomic():
            lock(group)
            _describe(group)


def _describe(group: AlertGroup) -> None:
    related = group.alerts.select_related("series__benchmark", "series__config")
    alerts = list(related.order_by("planned_at"))
    if not alerts or group.kind == Kind.SILENCE:
        return
    supported = [alert for alert in alerts if not alert.is_withdrawn] or alerts
    standing = [alert for alert in supported if alert.recovered_at is None] or supported
    suspicions = [suspicion_of(alert) for alert in standing]
    significant = grouping.significant(suspicions, alerting_series_count(group))
    # Next to what is confirmed, the rest would read as if it were as well
    named = [suspicion_of(alert) for alert in surest(standing)]
    group.title = grouping.title(named, since(group, alerts[0]))
    group.direction = grouping.direction_of(suspicions)
    group.severity = grouping.severity_of(suspicions, passing=bool(significant))
    group.save(update_fields=["title", "direction", "severity"])


def name_of(series: Series) -> str:
    """A series as histories name it: "mlp.…b64 in inductor, Peak memory"."""
    return f"{series.benchmark} in {series.config}, {metric_of(series.metric).label}"


def since(group: AlertGroup, first: Alert) -> str:
    """The end of the title: since which build, or since when on which machine where the build
    stayed; on which build, where nothing is known of another one.
    """
    if group.new is not None and group.base is None:
        return f"on {group.new.label}"
    if group.new is not None and group.new_id != group.base_id:
        return f"since {group.new.label}"
    return f"on {group.machine} since {stamp(timezone.localtime(first.planned_at))}"
