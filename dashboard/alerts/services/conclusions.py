"""Says what came of measuring again: another round for what is open, or the verdict of the group.

The test is in dashboard/alerts/core/confirmation.py. Without any value of the base build (it cannot be installed
any more) the new build is compared with the recorded level, and the verdict says that this is
weaker.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from dashboard.alerts.core import confirmation as confirming
from dashboard.alerts.selectors import pairs
from dashboard.alerts.services import triage
from dashboard.alerts.services.alert_groups import reattribute
from dashboard.alerts.services.confirmations import PATIENCE, plan_rounds
from dashboard.alerts.services.descriptions import describe
from dashboard.language.metrics import METRICS
from dashboard.language.wording import plural, signed
from dashboard.models import Alert, AlertState, Confirmation, Job
from dashboard.runs.services.run_state import ACTIVE
from dashboard.runs.services.runs import cancel_run

logger = structlog.get_logger(__name__)


def advance_all(*, now: datetime) -> int:
    """Look at every confirmation whose planned jobs are over; how many."""
    running = Confirmation.objects.filter(state=Confirmation.State.RUNNING).values_list(
        "pk", flat=True
    )
    return sum(advance(confirmation_id=pk, now=now) for pk in running)


def advance(*, confirmation_id: int, now: datetime) -> bool:
    """Look at the pairs there are: plan another round for what is open, or finish. False: jobs are
    still out.
    """
    with transaction.atomic():
        locked = Confirmation.objects.select_for_update(of=("self",)).select_related(
            "group__machine", "group__track"
        )
        confirmation = locked.get(pk=confirmation_id)
        if confirmation.state != Confirmation.State.RUNNING:
            return False
        if confirmation.group.state not in (AlertState.CONFIRMING, *triage.STAYS):
            stopped = f"Stopped: the alert is {confirmation.group.state}."
            _cancel(confirmation, stopped)
            _end(confirmation, stopped, now)
            return True
        late = confirmation.created_at < now - PATIENCE
        if late:
            _cancel(
                confirmation, f"Stopped: the confirmation has taken more than {PATIENCE.days} days."
            )
        elif Job.objects.filter(run__confirmation=confirmation, state__in=ACTIVE).exists():
            return False
        _look(confirmation, now, last=late)
    return True


def _cancel(confirmation: Confirmation, why: str) -> None:
    for run in confirmation.runs.all():
        cancel_run(run=run, why=why)


def _look(confirmation: Confirmation, now: datetime, *, last: bool) -> None:
    """Note what is decided, and plan another round for what is open; `last`: there is no other
    round.
    """
    alerts = list(
        confirmation.alerts.select_related("series__benchmark", "series__config", "job", "group")
    )
    planned = pairs.rounds(confirmation) * confirmation.runs.count()
    last = last or planned >= len(confirmation.order)
    for alert in alerts:
        outcome = None if alert.confirmation else _outcome(confirmation, alert)
        if outcome is not None and (outcome.verdict != "open" or last):
            _note(alert, outcome)
        elif outcome is None and not alert.confirmation:
            alert.confirmation = AlertState.INCONCLUSIVE
            alert.save(update_fields=["confirmation"])
    still_open = [alert for alert in alerts if not alert.confirmation]
    if still_open:
        plan_rounds(confirmation=confirmation, alerts=still_open, rounds=1, now=now)
    else:
        _finish(confirmation, alerts, now)


def _outcome(confirmation: Confirmation, alert: Alert) -> confirming.ConfirmationOutcome | None:
    """What the measurements of one representative say; None where there are none to compare.

    Without any value of the base after the first pairs, the new build is compared with the recorded
    level.
    """
    settings = pairs.settings_of_alert(alert)
    found = pairs.of(confirmation, alert)
    if not confirmation.only_new and found.paired:
        most = len(confirmation.order) // 2
        return confirming.look(found.paired, alert.effect or 0.0, settings, most)
    if found.base or not found.new:
        return None
    if not confirmation.only_new:
        confirmation.only_new = True
        confirmation.message = (
            "The base build cannot be measured here any more: only the new "
            "one was, which is weaker."
        )
        confirmation.save(update_fields=["only_new", "message"])
    if len(found.new) < confirming.FEWEST:
        return None
    return confirming.alone(found.recorded, found.new, alert.effect or 0.0, settings)


def _note(alert: Alert, outcome: confirming.ConfirmationOutcome) -> None:
    verdict = outcome.verdict if outcome.verdict != "open" else AlertState.INCONCLUSIVE
    alert.confirmation = verdict
    alert.decision["confirmation"] = {
        "effect": outcome.effect,
        "low": outcome.low,
        "high": outcome.high,
        "unit": outcome.unit,
        "pairs": outcome.pairs,
        "verdict": verdict,
    }
    alert.save(update_fields=["confirmation", "decision"])


def _finish(confirmation: Confirmation, alerts: Sequence[Alert], now: datetime) -> None:
    """Confirmed by any of the representatives; inconclusive where one is; else not reproduced."""
    group = confirmation.group
    verdicts = {alert.confirmation for alert in alerts}
    ranked = (AlertState.CONFIRMED, AlertState.INCONCLUSIVE, AlertState.NOT_REPRODUCED)
    verdict = next(state for state in ranked if state in verdicts)
    text = "; ".join(_told(alert) for alert in alerts)
    _note_others(confirmation, alerts)
    _end(confirmation, f"{confirmation.message} {text}".strip(), now)
    reattribute(group=group)
    describe(groups=[group])
    if verdict in triage.possible(group=group, person=False):
        triage.move(group=group, to=verdict, why=confirmation.message)
    else:
        triage.record_event(group=group, text=f"{verdict}: {confirmation.message}")
    logger.info("confirmation ended", group=group.pk, verdict=verdict)


def _note_others(confirmation: Confirmation, alerts: Sequence[Alert]) -> None:
    """The same processes brought every metric of their cases: what they say of the group's other
    alerts there.
    """
    cases = {(alert.series.benchmark_id, alert.series.config_id) for alert in alerts}
    others = confirmation.group.alerts.exclude(
        pk__in=[alert.pk for alert in alerts]
    ).select_related("series", "group")
    for alert in others:
        if (alert.series.benchmark_id, alert.series.config_id) not in cases:
            continue
        outcome = _outcome(confirmation, alert)
        if outcome is not None and outcome.verdict != "open":
            _note(alert, outcome)


def _told(alert: Alert) -> str:
    """One representative in words: "mlp… in inductor, Latency: +6.1 % (+4.8 to +7.5) in 5 pairs:
    confirmed".
    """
    series = alert.series
    name = f"{series.benchmark} in {series.config}, {METRICS[series.metric].label}"
    found: dict[str, Any] = alert.decision.get("confirmation", {})
    if not found:
        return f"{name}: {alert.confirmation}, nothing could be measured"
    unit = " %" if found["unit"] == "percent" else ""
    ends = (
        ""
        if found["low"] == found["high"]
        else f" ({signed(found['low'])} to {signed(found['high'])})"
    )
    return (
        f"{name}: {signed(found['effect'])}{unit}{ends} in "
        f"{plural(found['pairs'], 'round')}: {alert.confirmation}"
    )


def _end(confirmation: Confirmation, message: str, now: datetime) -> None:
    confirmation.state, confirmation.message = Confirmation.State.DONE, message
    confirmation.finished_at = now
    confirmation.save(update_fields=["state", "message", "finished_at"])
