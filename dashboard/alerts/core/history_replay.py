"""Changes the detector reports of a whole history under some settings, next to others. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.detection import Settings
from dashboard.results.core.series_points import SNAP, SeriesDetector, SeriesPoint


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A change that the detector reports.

    at: of the first point of the new level. position: of that point in the history.
    seen_at: of the point at which it was sure.
    effect: in unit, percent or difference.
    """

    at: datetime
    position: int
    seen_at: datetime
    effect: float
    unit: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Changes under two settings, paired: those that lie at most SNAP points apart.

    both: as the first settings report them.
    """

    both: list[ReportedChange]
    only_first: list[ReportedChange]
    only_second: list[ReportedChange]


def changes_of(
    history: Sequence[SeriesPoint], metric: str, per_build: bool, settings: Settings
) -> list[ReportedChange]:
    """Every change that the detector reports of a history, from its first datum on."""
    detector = SeriesDetector(metric, per_build, settings=settings)
    starts: list[
        tuple[int, datetime]
    ] = []  # of each point: its number, the time of its first datum
    segment = 0  # the number of the segment's first point
    changes = []
    for reading in history:
        verdict = detector.take(reading)
        if verdict is None:
            continue
        if len(detector.open) == 1:
            if detector.now.seen == 1:
                segment = len(starts)
            starts.append((len(starts), reading.at))
        if verdict.state == "changed" and verdict.index is not None:
            position, at = starts[segment + verdict.index]
            effect, unit = verdict.effect or 0.0, verdict.unit or "difference"
            changes.append(ReportedChange(at, position, reading.at, effect, unit))
    return changes


def differences(first: Sequence[ReportedChange], second: Sequence[ReportedChange]) -> Differences:
    """Pair the changes that both have: each once, with the nearest that is left."""
    left = list(second)
    both, only_first = [], []
    for change in first:
        near = [other for other in left if abs(other.position - change.position) <= SNAP]
        same = [other for other in near if (other.effect > 0) == (change.effect > 0)]
        if not same:
            only_first.append(change)
            continue
        left.remove(min(same, key=lambda other: abs(other.position - change.position)))
        both.append(change)
    return Differences(both, only_first, left)
