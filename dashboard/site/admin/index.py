"""The first page of the admin: what goes on now, "Run now", and every list with what it is for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from dashboard.language.wording import plural
from dashboard.overview.selectors import overview
from dashboard.runs.selectors import runs
from dashboard.site import admin_look


@dataclass(frozen=True, slots=True)
class Fact:
    """A live figure, and the page that tells more. is_bad: somebody should look."""

    label: str
    value: int
    note: str
    url: str
    is_bad: bool = False


def context(request: HttpRequest, given: dict[str, Any]) -> dict[str, Any]:
    """What unfold gives the page, with the facts and the lists; the settings name this as
    DASHBOARD_CALLBACK.
    """
    return {**given, "facts": facts(timezone.now()), "groups": admin_look.lists(request)}


def facts(now: datetime) -> list[Fact]:
    """Running, waiting, workers, open alerts. Three queries."""
    active, workers, tally = runs.active_runs(), overview.fleet(now), overview.open_alerts().tally
    running = sum(row.counts.running for row in active)
    signed_in = [line for line in workers if line.name]
    alive = sum(line.state != "silent" for line in signed_in)
    severities = ", ".join(f"{number} {severity}" for severity, number, _ in tally.rows)
    waiting = sum({line.machine: line.waiting for line in workers}.values())
    return [
        Fact(
            "Runs at work", len(active), f"{plural(running, 'job')} being measured", reverse("runs")
        ),
        Fact(
            "Jobs waiting",
            waiting,
            "for a worker",
            reverse("fleet"),
            is_bad=bool(waiting and not alive),
        ),
        Fact(
            "Workers alive",
            alive,
            f"of {len(signed_in)}",
            reverse("fleet"),
            is_bad=alive < len(signed_in),
        ),
        Fact(
            "Open alerts",
            tally.total,
            severities or "nothing to look at",
            reverse("alerts"),
            bool(tally.total),
        ),
    ]
