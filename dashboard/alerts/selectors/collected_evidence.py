"""Diagnostic reruns of an alert's builds: what they left, when they are made, and why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from dashboard.alerts.selectors.evidence import surest
from dashboard.language.metrics import EAGER
from dashboard.models import (
    Alert,
    AlertGroup,
    Cause,
    Confirmation,
    Direction,
    EvidenceState,
    Job,
    Kind,
)
from dashboard.runs.selectors.runs import ACTIVE

RECENT = timedelta(days=3)  # since the confirmation; later, a person decides
# Of these the compiler's own records can say more; of a machine or another suite they say nothing
EXPLAINED = (Cause.COMPILER, Cause.UNKNOWN)


@dataclass(frozen=True, slots=True)
class CollectedEvidence:
    """The newest diagnostic rerun of a group.

    jobs: of base and new; empty where there was none.
    why_not: why there is none; empty where there is one, or one is due.
    """

    jobs: Sequence[Job]
    why_not: str
    may_collect: bool


def of_group(group: AlertGroup, alerts: Sequence[Alert]) -> CollectedEvidence:
    """Evidence of a group, of which `alerts` are all. Two queries at most."""
    jobs = (
        Job.objects.filter(run__evidence_of__group=group)
        .select_related("run__build", "benchmark", "config")
        .defer("spec", "log_tail")
        .order_by("-planned_at")
    )
    sides: dict[str, Job] = {}
    for job in jobs:
        sides.setdefault(job.run.request["side"], job)
    newest = [sides[name] for name in sorted(sides)]
    refusal = why_impossible(group, alert_to_diagnose(alerts))
    why_not = "" if newest else refusal or why_not_by_itself(group, timezone.now())
    is_active = any(job.state in ACTIVE for job in newest)
    return CollectedEvidence(newest, why_not, may_collect=not (refusal or is_active))


def alerts_of(group: AlertGroup) -> list[Alert]:
    """All alerts of a group, with what planning a rerun needs."""
    related = ("series__benchmark", "series__config", "base", "new", "job", "group__machine")
    return list(group.alerts.select_related(*related))


def alert_to_diagnose(alerts: Sequence[Alert]) -> Alert | None:
    """The confirmed alert that moved most; of all alerts where none is confirmed."""
    return max(surest(alerts), key=lambda alert: abs(alert.size.effect or 0.0), default=None)


def why_impossible(group: AlertGroup, alert: Alert | None) -> str:
    """Explain why the two builds of this alert cannot be diagnosed at all; empty where they can."""
    if alert is None or group.machine_id is None or group.track_id is None:
        return "This alert is not a measurement."
    if alert.series.benchmark.imported:
        return "Another system measured it: none of it runs here."
    if group.kind == Kind.SILENCE or alert.new_id is None:
        return "This alert is not a measurement of a build."
    if alert.base_id == alert.new_id:
        return "The build did not change, so there are no two builds to compare."
    if alert.series.config.name == EAGER:
        return "It is a case in eager: nothing is compiled there."
    return ""


def why_not_by_itself(group: AlertGroup, now: datetime) -> str:
    """Explain why the system would not diagnose the group's builds unless a person asks for it."""
    confirmation: Confirmation | None = getattr(group, "confirmation", None)
    ended = confirmation.finished_at if confirmation else None
    is_regression = group.direction in (Direction.REGRESSION, Direction.TRADE_OFF)
    came_with_a_build = group.kind in (Kind.STEP, Kind.STATUS)
    why_not = ""
    if not settings.EVIDENCE_JOBS_A_DAY:
        why_not = "Here people ask for them (EVIDENCE_JOBS_A_DAY is 0)."
    elif not (is_regression and came_with_a_build):
        why_not = "They are collected by themselves only for regressions that came with a build."
    elif group.evidence_state != EvidenceState.CONFIRMED or ended is None:
        why_not = "They are collected once the alert is confirmed by measuring it again."
    elif group.cause not in EXPLAINED:
        why_not = f"The likely cause is not the compiler ({group.cause} is)."
    elif ended < now - RECENT:
        why_not = f"The confirmation ended over {RECENT.days} days ago: people may ask for them."
    return why_not
