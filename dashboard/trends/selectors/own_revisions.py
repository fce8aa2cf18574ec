"""Revisions of an own model side by side: what each of them measured on the same build."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dashboard.language.wording import ValueChange, change
from dashboard.models import BuildLevel, OwnRevision
from dashboard.trends.selectors.series_selection import SeriesSelection

SHOWN_REVISIONS = 4  # the newest
SHOWN_ROWS = 12


class RevisionLevel(NamedTuple):
    """The mean of what one revision measured, and how many processes made it."""

    mean: float
    processes: int


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One config on one build, device and set of libraries: only the model's file differs.

    levels: of each shown revision; None where it was not measured there.
    change: between the two newest of them, without a judgement.
    """

    config: str
    build: str
    device: str
    levels: list[RevisionLevel | None]
    change: ValueChange | None


@dataclass(frozen=True, slots=True)
class RevisionTable:
    """revisions: the newest, oldest first. rows: where two of them were measured."""

    revisions: list[OwnRevision]
    rows: list[RevisionRow]


def side_by_side(selection: SeriesSelection) -> RevisionTable | None:
    """The revisions of an own model; None where there is only one. At most two queries."""
    newest_first = selection.benchmark.revisions.order_by("-number")
    revisions = list(newest_first[:SHOWN_REVISIONS])[::-1]
    if len(revisions) < 2:
        return None
    numbers = [revision.number for revision in revisions]
    levels = BuildLevel.objects.filter(
        series__in=[series.pk for series in selection.series], benchmark_version__in=numbers
    )
    places: dict[tuple[str, str, str, str], dict[int, RevisionLevel]] = {}
    for level in levels.select_related("build", "series__config").order_by("-build__created_at"):
        place = (level.series.config.name, level.build.label, level.device, level.libraries)
        means = places.setdefault(place, {})
        other_sessions = means.get(level.benchmark_version, RevisionLevel(0.0, 0))
        processes = level.count + other_sessions.processes
        total = level.mean * level.count + other_sessions.mean * other_sessions.processes
        means[level.benchmark_version] = RevisionLevel(total / processes, processes)

    rows = []
    for (config, build, device, _), means in places.items():
        if len(means) > 1:
            shown = [means.get(number) for number in numbers]
            rows.append(RevisionRow(config, build, device, shown, _newest_change(selection, means)))
    return RevisionTable(revisions, rows[:SHOWN_ROWS])


def _newest_change(
    selection: SeriesSelection, means: Mapping[int, RevisionLevel]
) -> ValueChange | None:
    *_, before, after = sorted(means)
    return change(selection.metric, means[before].mean, means[after].mean)
