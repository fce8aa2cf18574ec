"""Builds that were measured in turn, whose points in time are no trend: the oldest against the
newest.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.tables import compare
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.judgement.changes import Change
from dashboard.language.metrics import TOOLCHAIN
from dashboard.models import TorchBuild
from dashboard.trends.selectors.series_selection import SeriesSelection
from dashboard.ui.charts import TREND_PURPOSES, ChartLine


@dataclass(frozen=True, slots=True)
class OldestToNewest:
    """Changes between two builds, by config; only those whose interval is known."""

    oldest: str
    newest: str
    changes: dict[str, Change]


def oldest_to_newest(
    selection: SeriesSelection, lines: Iterable[ChartLine]
) -> OldestToNewest | None:
    """The newest version of the lines against the oldest one, with the intervals that a comparison
    of the two has; None where there is one version alone, or the metric is of no process. Seven
    queries.
    """
    builds = _plain_builds(lines)
    if selection.place is None or len(builds) < 2 or selection.metric.key == TOOLCHAIN:
        return None
    (base, oldest), (new, newest) = builds[0], builds[-1]
    source = SideSource(selection.place.machine.pk)
    sides = by_build(source, [base, new], [selection.metric.key], to_pair=True)
    changes = {}
    for row in compare(sides[base], sides[new], selection.metric).rows:
        is_shown = row.case.benchmark == selection.benchmark.name
        if is_shown and row.case.config in selection.configs and row.change.has_interval:
            changes[row.case.config] = row.change
    return OldestToNewest(oldest, newest, changes)


def _plain_builds(lines: Iterable[ChartLine]) -> list[tuple[int, str]]:
    """(id, label) of each build on the lines, variants left out, by version."""
    labels: set[str] = set()
    for line in lines:
        for build, purpose in zip(line.build, line.purpose, strict=True):
            if purpose in TREND_PURPOSES:
                labels.add(build)
    rows = TorchBuild.objects.filter(label__in=labels, base=None).values_list(
        "pk", "label", "version"
    )
    return [(pk, label) for pk, label, _ in sorted(rows, key=lambda row: version_order(row[2]))]
