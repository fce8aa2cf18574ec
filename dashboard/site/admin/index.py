"""The first page of the admin: what goes on now, "Run now", and every list with its purpose."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from dashboard.alerts.selectors import alerts
from dashboard.home.selectors import home
from dashboard.language.wording import plural
from dashboard.runs.selectors import runs
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
    """Running, waiting, workers, open alerts. Three queries."""
    active = runs.active_runs()
    workers = home.fleet(now)
    tally = alerts.tally(alerts.listing({}))
    running = sum(row.counts.running for row in active)
    waiting_by_machine = {line.machine: line.waiting for line in workers}
    waiting = sum(waiting_by_machine.values())
    signed_in = [line for line in workers if line.name]
    alive = sum(line.state != "silent" for line in signed_in)
    severities = ", ".join(f"{number} {severity}" for severity, number, _ in tally.rows)
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
            note=f"of {len(signed_in)}",
            url=reverse("fleet"),
            is_bad=alive < len(signed_in),
        ),
        Fact(
            label="Open alerts",
            value=tally.total,
            note=severities or "nothing to look at",
            url=reverse("alerts"),
            is_bad=bool(tally.total),
        ),
    ]
