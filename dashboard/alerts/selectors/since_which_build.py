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
    """List what the alert itself started, the newest first. One query; none where
    `alert_page.groups` knows that there is nothing, as of most alerts.
    """
    if not getattr(group, "was_searched", True):
        return []
    rows = bisections.listing().filter(group=group)
    return [Search(row, between(row.low.git_sha, row.high.git_sha)) for row in rows]


def can_bisect(alert: Alert, command: str) -> bool:
    """Test whether commits, levels and command are known, which `git bisect run` needs. No query.

    command: as `alert_page.reproduce` gives it.
    """
    base, new = alert.base, alert.new
    if base is None or new is None or not between(base.git_sha, new.git_sha):
        return False
    if not command.startswith(_COMMAND) or "\n" in command:
        return False
    before, after = _seen_levels(alert)
    return before != after


def bisect_task(alert: Alert, command: str) -> BisectTask | None:
    """Build the task that `git bisect run` has to decide; None where it cannot."""
    base, new = alert.base, alert.new
    if base is None or new is None or not can_bisect(alert, command):
        return None
    is_status = alert.series.metric == STATUS_METRIC
    before, after = _seen_levels(alert) if is_status else _levels(alert)
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
    """Base and new as the confirmation measured them, where they differ, else as the detector saw
    them.
    """
    confirmation = Confirmation.objects.filter(group=alert.group_id).first()
    if confirmation is not None:
        measured = pairs.measured_pairs(confirmation, alert)
        if measured.base and measured.new:
            base, new = _middle(measured.base), _middle(measured.new)
            if base != new:
                return base, new
    return _seen_levels(alert)


def _seen_levels(alert: Alert) -> tuple[float, float]:
    """As the detector saw them: of a status, 0 passes and 1 fails. The same where unknown."""
    if alert.series.metric == STATUS_METRIC:
        return 0.0, 1.0
    return alert.levels or (0.0, 0.0)


def _middle(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def _halfway(before: float, after: float) -> float:
    """As a bisection on the site decides: halfway of the logarithms, where there are any."""
    if before > 0 and after > 0:
        return math.sqrt(before * after)
    return (before + after) / 2
