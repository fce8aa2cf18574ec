"""The map of a machine: what its newest releases changed, model by model."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from dashboard.accounts.selectors import starred_models
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS, UpgradeReport, build_report
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild, builds_by_version
from dashboard.comparisons.selectors.side_choice import Choice
from dashboard.comparisons.selectors.versions import (
    MeasuredSide,
    SideSource,
    by_build,
    data_fingerprint,
)
from dashboard.judgement.changes import SetVerdict
from dashboard.judgement.words import ORDER
from dashboard.models import TorchBuild
from dashboard.overview.core.release_map import Compare, MapCell, MapRow, map_rows

_MOST_BUILDS = 6


@dataclass(frozen=True, slots=True)
class MapColumn:
    """A build. name: its label, without the local version where that says nothing.

    counts: models by the verdict of their step, in the order of words.ORDER.
    """

    label: str
    name: str
    counts: Sequence[tuple[SetVerdict, int]]


@dataclass(frozen=True, slots=True)
class ReleaseMap:
    """columns: the oldest first. alone: models that one build alone measured."""

    machine: str
    builds: Sequence[MeasuredSide]
    compare: Compare
    columns: list[MapColumn]
    rows: list[MapRow]
    alone: int

    def report_of(self, choice: Choice) -> UpgradeReport | None:
        """The comparison of two of its builds; None of others."""
        sides = choice.base.measured, choice.new.measured
        if choice.differs != ["build"] or not set(sides) <= set(self.builds):
            return None
        base, new = map(self.builds.index, sides)
        return self.compare(base, new)


def release_map(
    machine: str, measured: Sequence[MeasuredBuild], user: int | None
) -> ReleaseMap | None:
    """The newest releases of that machine, the models that a person starred first; None of fewer
    than two. Two queries where it is kept since the data are the same, else eight.
    """
    builds = []
    for tested in builds_by_version(measured, machine, ""):
        if tested.base is None and tested.channel == TorchBuild.Channel.RELEASE:
            builds.append(tested)
    builds = builds[:_MOST_BUILDS][::-1]
    if len(builds) < 2:
        return None
    source = SideSource(builds[0].machine)
    ids = tuple(tested.build for tested in builds)
    measured_sides = [(source, build) for build in ids]
    fingerprint = data_fingerprint(measured_sides, REPORT_METRICS)
    labels = tuple(tested.label for tested in builds)
    sides, compare = _compared(fingerprint, source, ids)
    rows, alone = map_rows(labels, sides, compare, starred_models.of_user(user))
    columns = []
    versions = Counter(tested.version.partition("+")[0] for tested in builds)
    for place, label in enumerate(labels):
        cells = [row.cells[place] for row in rows]
        counts = Counter(cell.verdict for cell in cells if isinstance(cell, MapCell))
        shares = [(word, counts[word]) for word in ORDER if counts[word]]
        version = label.partition("+")[0]
        columns.append(MapColumn(label, version if versions[version] == 1 else label, shares))
    return ReleaseMap(machine, measured_sides, compare, columns, rows, alone)


@lru_cache(maxsize=4)
def _compared(
    fingerprint: str, source: SideSource, builds: tuple[int, ...]
) -> tuple[list[Side], Compare]:
    """Read what each build measured, and return a function that makes each comparison once.

    fingerprint: of the data, as a part of the cache's key alone.
    """
    by_id = by_build(source, builds, REPORT_METRICS, to_pair=True)
    sides: list[Side] = [by_id[build] for build in builds]

    @cache
    def compare(before: int, after: int) -> UpgradeReport:
        return build_report(sides[before], sides[after])

    return sides, compare
