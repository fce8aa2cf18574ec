"""The map of a machine: what its newest releases changed, model by model."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS, UpgradeReport, build_report
from dashboard.comparisons.selectors.measured_builds import builds_by_version, measured_builds
from dashboard.comparisons.selectors.versions import SideSource, by_build, data_fingerprint
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
    columns: list[MapColumn]
    rows: list[MapRow]
    alone: int


def release_map(machine: str, starred: Collection[str]) -> ReleaseMap | None:
    """The newest releases of that machine; None of fewer than two. Two queries where it is kept
    since the data are the same, else eight.
    """
    builds = []
    for tested in builds_by_version(measured_builds(), machine, ""):
        if tested.base is None and tested.channel == TorchBuild.Channel.RELEASE:
            builds.append(tested)
    builds = builds[:_MOST_BUILDS][::-1]
    if len(builds) < 2:
        return None
    source = SideSource(builds[0].machine)
    ids = tuple(tested.build for tested in builds)
    fingerprint = data_fingerprint([(source, build) for build in ids], REPORT_METRICS)
    labels = tuple(tested.label for tested in builds)
    rows, alone = map_rows(labels, *_compared(fingerprint, source, ids), starred)
    columns = []
    versions = Counter(tested.version.partition("+")[0] for tested in builds)
    for place, label in enumerate(labels):
        cells = [row.cells[place] for row in rows]
        counts = Counter(cell.verdict for cell in cells if isinstance(cell, MapCell))
        shares = [(word, counts[word]) for word in ORDER if counts[word]]
        version = label.partition("+")[0]
        columns.append(MapColumn(label, version if versions[version] == 1 else label, shares))
    return ReleaseMap(machine, columns, rows, alone)


@lru_cache(maxsize=4)
def _compared(
    fingerprint: str, source: SideSource, builds: tuple[int, ...]
) -> tuple[list[Side], Compare]:
    """What each build measured, and their comparisons, each made once.

    fingerprint: of the data, as a part of the cache's key alone.
    """
    by_id = by_build(source, builds, REPORT_METRICS, to_pair=True)
    sides: list[Side] = [by_id[build] for build in builds]

    @cache
    def compare(before: int, after: int) -> UpgradeReport:
        return build_report(sides[before], sides[after])

    return sides, compare
