"""Concludes what was measured again: another round for what is open, or the verdict of the group.

The test is in dashboard/alerts/core/confirmation.py. Without any value of the base build (it cannot
be installed any more) the new build is compared with the recorded level, and the verdict says that
this is weaker.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from dashboard.alerts.core import confirmation as confirming
from dashboard.alerts.selectors import pairs
from dashboard.alerts.services import triage
from dashboard.alerts.services.causes import reattribute
from dashboard.alerts.services.confirmations import PATIENCE, plan_rounds
from dashboard.alerts.services.descriptions import describe, name_of
from dashboard.detection import status_value
from dashboard.judgement.confirmation import FEWEST
from dashboard.language.finite_json import finite
from dashboard.language.metrics import STATUS_METRIC
from dashboard.language.wording import plural, signed
from dashboard.models import Alert, AlertState, Confirmation, Job, JobState, Status
from dashboard.runs.selectors.runs import ACTIVE_RUNS
from dashboard.runs.services.isolation import isolated
from dashboard.runs.services.runs import cancel_run

logger = structlog.get_logger(__name__)


def advance_all(*, now: datetime) -> int:
    """Advance every confirmation whose planned jobs are over; how many."""
    running = Confirmation.objects.filter(state=Confirmation.State.RUNNING)
    done = 0
    for key in running.values_list("pk", flat=True):
        with isolated("confirmation could not be advanced", confirmation=key):
            done += advance(confirmation_id=key, now=now)
    return done


def advance(*, confirmation_id: int, now: datetime) -> bool:
    """Compare the pairs so far: plan another round for what is open, or finish.

    False: its jobs are not over yet.
    """
    with transaction.atomic():
        locked = Confirmation.objects.select_for_update(of=("self",)).select_related(
            "group__machine", "group__track"
        )
        confirmation = locked.get(pk=confirmation_id)
        if confirmation.state != Confirmation.State.RUNNING:
            return False
        if not confirmation.group.is_open:
            stopped = f"Stopped: the alert is {confirmation.group.state}."
            _cancel(confirmation, stopped)
            _end(confirmation, stopped, now)
            return True
        stopped = ""
        if confirmation.created_at < now - PATIENCE:
            stopped = f"Stopped: the confirmation has taken more than {PATIENCE.days} days."
            _cancel(confirmation, stopped)
        elif confirmation.runs.filter(state__in=ACTIVE_RUNS).exists():
            return False
        elif _is_cancelled(confirmation):
            stopped = "Stopped: its jobs were cancelled."
        confirmation.message = f"{confirmation.message} {stopped}".strip()
        _compare(confirmation, now, is_last=bool(stopped))
    return True


def _is_cancelled(confirmation: Confirmation) -> bool:
    """Test for jobs cancelled since it was last started: measuring again begins after that."""
    return Job.objects.filter(
        run__confirmation=confirmation,
        state=JobState.CANCELLED,
        planned_at__gte=confirmation.created_at,
    ).exists()


def _cancel(confirmation: Confirmation, why: str) -> None:
    for run in confirmation.runs.all():
        cancel_run(run=run, why=why)


def _compare(confirmation: Confirmation, now: datetime, *, is_last: bool) -> None:
    """Record what is decided, and plan another round for what is open; is_last: there is none."""
    related = ("series__benchmark", "series__config", "job", "group")
    alerts = list(confirmation.alerts.select_related(*related))
    planned = pairs.planned_rounds(confirmation) * confirmation.runs.count()
    is_last = is_last or planned >= len(confirmation.order)
    for alert in alerts:
        if alert.confirmation:
            continue
        outcome = _outcome(confirmation, alert)
        if outcome is None:
            alert.confirmation = AlertState.INCONCLUSIVE
            alert.save(update_fields=["confirmation"])
        elif outcome.verdict != "open" or is_last:
            _record_outcome(alert, outcome)
    still_open = [alert for alert in alerts if not alert.confirmation]
    if still_open:
        plan_rounds(confirmation=confirmation, alerts=still_open, rounds=1, now=now)
    else:
        _finish(confirmation, alerts, now)


def _outcome(confirmation: Confirmation, alert: Alert) -> confirming.ConfirmationOutcome | None:
    """Judge the measurements of one representative; None where there are none to compare.

    Without any value of the base after the first pairs, the new build is compared with the recorded
    level.
    """
    settings = pairs.settings_of_alert(alert)
    suspected = alert.effect or 0.0
    measured = pairs.measured_pairs(confirmation, alert)
    if alert.base_id is None and measured.new:  # it never passed: there is nothing but to pass
        passes = status_value(Status.PASS)
        required = [(passes, value) for value in measured.new]
        return confirming.compare_pairs(required, suspected, settings, len(required))
    if not confirmation.only_new and measured.paired:
        most = len(confirmation.order) // 2 - confirming.WARM_UPS
        return confirming.compare_pairs(measured.paired, suspected, settings, most)
    if measured.base or not measured.new:
        return None
    if not confirmation.only_new:
        confirmation.only_new = True
        confirmation.message = (
            "The base build cannot be measured here any more: only the new one was, which is "
            "weaker."
        )
        confirmation.save(update_fields=["only_new", "message"])
        confirmation.runs.update(session="")  # what is still to come may run anywhere
    if len(measured.new) < FEWEST:
        return None
    return confirming.compare_with_recorded(measured.recorded, measured.new, suspected, settings)


def _record_outcome(alert: Alert, outcome: confirming.ConfirmationOutcome) -> None:
    is_open = outcome.verdict == "open"  # and there is no further round
    verdict = AlertState.INCONCLUSIVE if is_open else outcome.verdict
    alert.confirmation = verdict
    alert.decision["confirmation"] = finite({**asdict(outcome), "verdict": verdict})
    alert.save(update_fields=["confirmation", "decision"])


def _finish(confirmation: Confirmation, alerts: Sequence[Alert], now: datetime) -> None:
    """Confirmed by any of the representatives; inconclusive where one is; else not reproduced."""
    group = confirmation.group
    verdicts = {alert.confirmation for alert in alerts}
    ranked = (AlertState.CONFIRMED, AlertState.INCONCLUSIVE, AlertState.NOT_REPRODUCED)
    verdict = next((state for state in ranked if state in verdicts), AlertState.INCONCLUSIVE)
    text = "; ".join(_sentence(alert) for alert in alerts) or "Its series were deleted meanwhile."
    _record_other_alerts(confirmation, alerts)
    _end(confirmation, f"{confirmation.message} {text}".strip(), now)
    reattribute(group=group)
    describe(groups=[group])
    if verdict in triage.possible(group=group, person=False):
        triage.move(group=group, to=verdict, why=confirmation.message)
    else:
        triage.record_event(group=group, text=f"{verdict}: {confirmation.message}")
    logger.info("confirmation ended", group=group.pk, verdict=verdict)


def _record_other_alerts(confirmation: Confirmation, alerts: Sequence[Alert]) -> None:
    """Record what the same processes show of the group's other alerts.

    They brought every metric of their cases.
    """
    cases = {_case(alert) for alert in alerts}
    others = confirmation.group.alerts.exclude(pk__in=[alert.pk for alert in alerts])
    for alert in others.select_related("series", "group"):
        if _case(alert) not in cases:
            continue
        outcome = _outcome(confirmation, alert)
        if outcome is not None and outcome.verdict != "open":
            _record_outcome(alert, outcome)


def _case(alert: Alert) -> tuple[int, int]:
    return alert.series.benchmark_id, alert.series.config_id


def _sentence(alert: Alert) -> str:
    """ "mlp… in inductor, Latency: +6.1% (+4.8 to +7.5) in 5 rounds: confirmed"; next to it the
    first estimate where the change turned out smaller. A status has no number: "mlp… in inductor:
    measured again in 5 rounds: confirmed".
    """
    series = alert.series
    outcome: dict[str, Any] = alert.decision.get("confirmation", {})
    if outcome and series.metric == STATUS_METRIC:
        case, rounds = f"{series.benchmark} in {series.config}", plural(outcome["pairs"], "round")
        return f"{case}: measured again in {rounds}: {alert.confirmation}"
    name = name_of(series)
    if not outcome:
        return f"{name}: {alert.confirmation}, nothing could be measured"
    sign = "%" if outcome["unit"] == "percent" else ""
    effect = signed(outcome["effect"]) + sign
    low, high = outcome["low"], outcome["high"]
    if low is not None and high is not None and signed(low) != signed(high):
        effect += f" ({signed(low)} to {signed(high)})"
    rounds = plural(outcome["pairs"], "round")
    verdict = alert.confirmation
    if alert.is_smaller and alert.effect is not None:
        verdict += f", smaller than first estimated ({signed(alert.effect)}{sign})"
    return f"{name}: {effect} in {rounds}: {verdict}"


def _end(confirmation: Confirmation, message: str, now: datetime) -> None:
    confirmation.state, confirmation.message = Confirmation.State.DONE, message
    confirmation.finished_at = now
    confirmation.save(update_fields=["state", "message", "finished_at"])
