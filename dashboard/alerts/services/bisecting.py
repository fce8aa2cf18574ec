"""Searches by itself between the builds of a confirmed alert: since which one did it change?

`start_due` begins, within a budget for each machine; the beat task *Advance bisections* performs
the steps; `record_ended` notes in the alert's history what came of it. Docs: versions.md.
"""

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction

from dashboard.alerts.selectors.alerts import OPEN, RANK
from dashboard.alerts.services import triage
from dashboard.alerts.services.confirmations import reason_to_wait
from dashboard.catalog.core.commits import between as commits_between
from dashboard.comparisons.services import bisections
from dashboard.models import (
    Alert,
    AlertGroup,
    Bisection,
    Confirmation,
    Direction,
    EvidenceState,
    Kind,
    Machine,
)
from dashboard.runs.services.isolation import isolated

RECENT = timedelta(days=3)  # since the confirmation; later, a person decides

logger = structlog.get_logger(__name__)


def start_due(*, now: datetime) -> int:
    """Start what can be started, the most severe regressions first; how many."""
    if not settings.BISECTION_JOBS_A_DAY:
        return 0
    confirmed = AlertGroup.objects.filter(
        OPEN,
        evidence_state=EvidenceState.CONFIRMED,
        kind__in=(Kind.STEP, Kind.STATUS),
        direction__in=(Direction.REGRESSION, Direction.TRADE_OFF),
        confirmation__state=Confirmation.State.DONE,
        confirmation__finished_at__gt=now - RECENT,
        bisections=None,
        base__base=None,
        new__base=None,
    )
    groups = confirmed.exclude(base=None).exclude(new=None).select_related("machine")
    ranked = sorted(groups, key=lambda group: (RANK[group.severity], group.created_at))
    started = 0
    for group in ranked:
        with isolated("bisection could not be started", group=group.pk):
            started += _start_if_possible(group, now)
    return started


def _start_if_possible(group: AlertGroup, now: datetime) -> bool:
    """Start the search unless something speaks against it, one on a machine at a time."""
    search = _search_of(group)
    if search is None or bisections.why_not(search):
        return False
    with transaction.atomic():
        # Of two calls at once, one starts
        machine = Machine.objects.select_for_update(no_key=True).get(pk=search.machine.pk)
        own = Bisection.objects.filter(machine=machine, group__isnull=False)
        if own.filter(group=group).exists() or own.filter(state=Bisection.State.RUNNING).exists():
            return False
        if reason_to_wait(machine=machine, now=now, limited=False):
            return False
        if bisections.is_over_budget(machine=machine, now=now):
            return False
        bisections.begin(bisection=search)
        text = f"Searching between {search.base} and {search.new}: {search.get_absolute_url()}"
        triage.note(group=group, text=text, by=None)
    logger.info("bisection started by an alert", group=group.pk, bisection=search.pk)
    return True


def _search_of(group: AlertGroup) -> Bisection | None:
    """The search for the confirmed alert that moved most; not saved. None where there is none."""
    confirmed = group.alerts.filter(confirmation=EvidenceState.CONFIRMED)
    related = ("series__benchmark", "series__config", "base", "new")
    alerts = list(confirmed.exclude(base=None).exclude(new=None).select_related(*related))
    if not alerts or group.machine is None:
        return None
    alert = max(alerts, key=_size)
    assert alert.base is not None
    assert alert.new is not None
    return Bisection(
        group=group,
        base=alert.base,
        new=alert.new,
        low=alert.base,
        high=alert.new,
        machine=group.machine,
        benchmark=alert.series.benchmark,
        config=alert.series.config,
        metric=alert.series.metric,
    )


def _size(alert: Alert) -> float:
    return abs(alert.size.effect or 0.0)


def record_ended() -> int:
    """Note in the history of each alert what its search found; how many have ended."""
    ended = Bisection.objects.filter(group__isnull=False, is_recorded=False).exclude(
        state=Bisection.State.RUNNING
    )
    searches = list(ended.select_related("group", "low", "high"))
    for search in searches:
        with isolated("bisection could not be recorded", bisection=search.pk):
            _record(search)
    return len(searches)


def _record(search: Bisection) -> None:
    with transaction.atomic():
        recorded = Bisection.objects.filter(pk=search.pk, is_recorded=False)
        if not recorded.update(is_recorded=True):
            return
        assert search.group is not None
        commits = commits_between(search.low.git_sha, search.high.git_sha)
        text = search.message
        if search.state == Bisection.State.FOUND:
            text = f"{text} {commits}".strip()
        triage.note(group=search.group, text=f"Since which build: {text}", by=None)
