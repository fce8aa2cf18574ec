"""Since which build, more closely than the alert says: searches between its builds, a script."""

import math
from dataclasses import dataclass

from django.conf import settings

from dashboard.alerts.core.git_bisect import BisectTask
from dashboard.alerts.selectors import pairs
from dashboard.catalog.core.commits import between
from dashboard.comparisons.selectors import bisections
from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Alert, AlertGroup, Bisection, Confirmation

_COMMAND = "python -m benchmarks_suite run --"  # of a result that keeps its command


@dataclass(frozen=True, slots=True)
class Search:
    """A search between the builds of an alert. commits: between where it stands; may be empty."""

    bisection: Bisection
    commits: str


def searches(group: AlertGroup) -> list[Search]:
    """What the alert itself started, the newest first. One query."""
    rows = bisections.listing().filter(group=group)
    return [Search(row, between(row.low.git_sha, row.high.git_sha)) for row in rows]


def bisect_task(alert: Alert, command: str) -> BisectTask | None:
    """What `git bisect run` has to decide; None where commits, levels or command are not known.

    command: as `alert_page.reproduce` gives it.
    """
    base, new = alert.base, alert.new
    if base is None or new is None or not between(base.git_sha, new.git_sha):
        return None
    if not command.startswith(_COMMAND) or "\n" in command:
        return None
    is_status = alert.series.metric == STATUS_METRIC
    before, after = (0.0, 1.0) if is_status else _levels(alert)
    if before == after:
        return None
    return BisectTask(
        alert=f"{settings.SITE_URL}{alert.group.get_absolute_url()}: {alert.group.title}",
        good=base.git_sha,
        bad=new.git_sha,
        command=command,
        metric="" if is_status else alert.series.metric,
        threshold=_halfway(before, after),
        is_bad_above=after > before,
    )


def _levels(alert: Alert) -> tuple[float, float]:
    """Base and new as the confirmation measured them, else as the detector saw them."""
    confirmation = Confirmation.objects.filter(group=alert.group_id).first()
    if confirmation is not None:
        measured = pairs.measured_pairs(confirmation, alert)
        if measured.base and measured.new:
            return _middle(measured.base), _middle(measured.new)
    return alert.levels or (0.0, 0.0)


def _middle(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _halfway(before: float, after: float) -> float:
    """As a bisection on the site decides: halfway of the logarithms, where there are any."""
    if before > 0 and after > 0:
        return math.sqrt(before * after)
    return (before + after) / 2
