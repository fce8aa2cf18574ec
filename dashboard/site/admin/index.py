"""The first page of the admin: what goes on now, "Run now", and every list with its purpose."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts.selectors import alerts
from dashboard.language.wording import plural
from dashboard.runs.selectors import fleet, runs
from dashboard.site import admin_look


@dataclass(frozen=True, slots=True)
class Fact:
    """A live figure, and the page with the details. is_bad: somebody should look."""

    label: str
    value: int
    note: str
    url: str
    is_bad: bool = False


def context(request: HttpRequest, given: dict[str, Any]) -> dict[str, Any]:
    """Unfold's context of the page, with the facts and the lists: its DASHBOARD_CALLBACK."""
    return {**given, "facts": facts(timezone.now()), "groups": admin_look.lists(request)}


def facts(now: datetime) -> list[Fact]:
    """Running, waiting, workers, open alerts. Four queries."""
    active = runs.active_runs()
    machines = fleet.machines(now)
    by_severity = Counter(alerts.listing({}).values_list("severity", flat=True))
    running = sum(row.counts.running for row in active)
    waiting = sum(row.waiting for row in machines)
    signed_in = sum(len(row.workers) for row in machines)
    alive = sum(row.alive for row in machines)
    counted = [f"{by_severity[word]} {word}" for word in alerts.RANK if by_severity[word]]
    severities = ", ".join(counted)
    return [
        Fact(
            label="Runs at work",
            value=len(active),
            note=f"{plural(running, 'job')} being measured",
            url=reverse("runs"),
        ),
        Fact(
            label="Jobs waiting",
            value=waiting,
            note="for a worker",
            url=reverse("fleet"),
            is_bad=bool(waiting and not alive),
        ),
        Fact(
            label="Workers alive",
            value=alive,
            note=f"of {signed_in}",
            url=reverse("fleet"),
            is_bad=alive < signed_in,
        ),
        Fact(
            label="Open alerts",
            value=by_severity.total(),
            note=severities or "nothing to look at",
            url=reverse("alerts"),
            is_bad=bool(by_severity),
        ),
    ]
