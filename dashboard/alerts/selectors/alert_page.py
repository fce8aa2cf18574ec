"""Content of an alert's page next to its charts: points, builds nearby, choices of triage."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.contrib.auth import get_user_model
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from dashboard.alerts.core.alert_charts import sides
from dashboard.alerts.selectors.alert_data import AroundChange
from dashboard.alerts.selectors.alerts import OPEN, AlertSummary
from dashboard.catalog.core import commits
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    Bisection,
    Cause,
    InvalidPoint,
    Mute,
    Result,
    TorchBuild,
)
from dashboard.runs.core.reproduce import command
from dashboard.ui.axes import milliseconds
from dashboard.ui.charts import ChartLine, first_seen

_NEAR = 12  # points on either side of the change in the page's table
_NEIGHBOURS = 3  # builds on either side that a change can be nudged to
_MOST_OTHERS = 50


def groups() -> QuerySet[AlertGroup]:
    """Groups with what their page names, and whether any of them was searched."""
    related = AlertGroup.objects.select_related(
        "machine", "track", "base", "new", "assignee", "confirmation"
    )
    return related.prefetch_related("links").annotate(
        was_searched=Exists(Bisection.objects.filter(group=OuterRef("pk"))),
    )


def commit_range(group: AlertGroup) -> str:
    """The address of PyTorch's commits between the two builds; empty where there is none."""
    if group.base is None or group.new is None:
        return ""
    # What is known by its commit alone may be of another project
    if group.new.version.startswith("git-"):
        return ""
    return commits.between(group.base.git_sha, group.new.git_sha)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence looked at for the cause: what supports one, and what is shown folded."""

    strong: list[dict[str, str]]
    weak: list[dict[str, str]]


def evidence(group: AlertGroup) -> Evidence:
    strong: list[dict[str, str]] = []
    weak: list[dict[str, str]] = []
    for fact in group.evidence:
        supports_a_cause = fact.get("supports") not in (None, "", Cause.UNKNOWN)
        (strong if supports_a_cause else weak).append(fact)
    return Evidence(strong, weak)


@dataclass(frozen=True, slots=True)
class NearbyPoint:
    """One point near the change, for the table next to the chart."""

    at: datetime
    build: str
    value: float
    low: float | None
    high: float | None
    job: str
    # before, after; earlier: of before the change before this one; later: since the next, or since
    # the level was back; other settings: of a variant that is not compared
    level: str
    is_first: bool  # of the new level


def points(seen: AroundChange) -> list[NearbyPoint]:
    """The points nearest to the change on both sides, in time order."""
    line = seen.line
    if line is None:
        return []
    first = int((line.at_ms < seen.step.at_ms).sum())
    start, end = max(first - _NEAR, 0), min(first + _NEAR, len(line.value))
    before, after = sides(line, seen.step)
    rows = []
    for index in range(start, end):
        level = "earlier" if index < first else "later"
        if before[index]:
            level = "before"
        elif after[index]:
            level = "after"
        elif not seen.step.compares(line.build[index]):
            level = "other settings"
        rows.append(_row(line, index, level, index == first))
    return rows


def _row(line: ChartLine, index: int, level: str, is_first: bool) -> NearbyPoint:
    return NearbyPoint(
        at=datetime.fromtimestamp(line.at_ms[index] / 1000, UTC),
        build=line.build[index],
        value=float(line.value[index]),
        low=_number(line.low[index]),
        high=_number(line.high[index]),
        job=line.job[index],
        level=level,
        is_first=is_first,
    )


def recovered_with(alert: Alert, seen: AroundChange) -> str:
    """The build with which the series came back to its old level; empty where the build did not
    change with that, or the series is not back.
    """
    if alert.recovered_at is None or seen.line is None:
        return ""
    at = int((seen.line.at_ms < milliseconds(alert.recovered_at)).sum())
    builds = seen.line.build[max(at - 1, 0) : at + 1]
    return builds[-1] if len(set(builds)) == 2 else ""


def _number(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def reproduce(alert: Alert) -> str:
    """The command that repeats the job of the new level; empty where nothing of it is kept, and of
    another tool's benchmarks.
    """
    if alert.series.benchmark.imported:
        return ""
    results = Result.objects.filter(job=alert.job_id)
    line = str(results.values_list("document__reproduce", flat=True).first() or "")
    spec = alert.job.spec if alert.job else {}
    if not line and not spec:
        return ""
    return command(spec, line)


def events(group: AlertGroup) -> list[AlertEvent]:
    """Its history, oldest first. One query."""
    events = group.events.select_related("by")
    return list(events.only("group", "at", "action", "state", "text", "by__username"))


def for_triage(
    group: AlertGroup, rows: Sequence[AlertSummary], seen: AroundChange | None
) -> dict[str, Any]:
    """List the forms' choices: people, groups, builds, series and their mutes, invalid points."""
    series = {row.alert.series_id: row.alert.series for row in rows}
    people = get_user_model().objects.filter(is_active=True).order_by("username")
    open_there = AlertGroup.objects.filter(OPEN, machine=group.machine, track=group.track)
    return {
        "people": list(people.only("username")),
        "others": list(open_there.exclude(pk=group.pk).only("title")[:_MOST_OTHERS]),
        "builds": neighbours(group, seen),
        "series": list(series.values()),
        "mutes": mutes(series),
        "invalid": invalid_points(series),
    }


def mutes(series: Collection[int]) -> list[Mute]:
    """The mutes of these series that last until later than now."""
    mutes = Mute.objects.filter(series__in=series, until__gt=timezone.now())
    return list(mutes.select_related("by").only("series", "until", "reason", "by__username"))


def invalid_points(series: Collection[int]) -> list[InvalidPoint]:
    points = InvalidPoint.objects.filter(series__in=series).select_related("by", "job")
    return list(points.only("series", "reason", "job__planned_at", "by__username"))


def neighbours(group: AlertGroup, seen: AroundChange | None) -> list[TorchBuild]:
    """Builds that the series measured shortly before and after the change's one. One query."""
    if seen is None or seen.line is None or group.new is None:
        return []
    labels = [label for _, label in first_seen([seen.line])]
    if group.new.label not in labels:
        return []
    place = labels.index(group.new.label)
    near = labels[max(place - _NEIGHBOURS, 0) : place + _NEIGHBOURS + 1]
    near.remove(group.new.label)
    builds = {build.label: build for build in TorchBuild.objects.filter(label__in=near)}
    return [builds[label] for label in near if label in builds]
