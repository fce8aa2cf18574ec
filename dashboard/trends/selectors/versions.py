"""The page of versions: its builds, its matrix of cases × builds, its chart and its export."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from dashboard.comparisons.core.matching import ComparedCase, Side
from dashboard.comparisons.core.tables import Table, compare
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild
from dashboard.comparisons.selectors.versions import SideSource, by_build, data_fingerprint
from dashboard.language.metrics import Metric
from dashboard.models import Benchmark
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.core.release_lines import (
    measured_labels,
    short_names,
    table_rows,
)
from dashboard.trends.core.version_matrix import changed_first, version_rows
from dashboard.trends.selectors.releases import release_lines
from dashboard.ui.charts import Figure
from dashboard.ui.config_looks import slots

_MOST_ROWS = 120
EXPORT_FIELDS = (
    "benchmark",
    "config",
    "metric",
    "unit",
    "build",
    "value",
    "low",
    "high",
    "processes",
    "status",
)


@dataclass(frozen=True, slots=True)
class VersionsSelection:
    """Selected builds of one machine, and what is shown of them.

    builds: shown, oldest first; variants only where asked for. total: how many builds the machine
        measured, of which `variants` are builds with other settings.
    base: what the matrix compares with. benchmark: of the chart, by name; empty: not chosen.
    """

    machine: MeasuredBuild
    builds: list[MeasuredBuild]
    total: int
    variants: int
    with_variants: bool
    base: MeasuredBuild
    metric: Metric
    benchmark: str

    @property
    def columns(self) -> list[MeasuredBuild]:
        """The builds as the matrix has them: releases next to each other, then the variants."""
        return sorted(self.builds, key=lambda build: build.base is not None)

    @property
    def labels(self) -> dict[int, str]:
        """The builds by id."""
        return {build.build: build.label for build in self.builds}

    def read_sides(self, benchmark: int | None = None) -> Mapping[int, Side]:
        """Read what each build measured, of one benchmark or of all. Four queries."""
        source = SideSource(self.machine.machine, benchmark=benchmark)
        return by_build(source, self.labels, [self.metric.key])


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Every case on every build. tables: each other build's against the base, by build."""

    sides: Mapping[int, Side]
    cases: list[ComparedCase]
    tables: dict[int, Table]


def versions_page(selection: VersionsSelection, *, all_rows: bool) -> dict[str, Any]:
    """Collect what the page shows, by the names of its template. One query where the comparison is
    kept, else five.

    columns: builds with their short names. benchmark: of the chart. table: the chart's numbers;
    slots: its colours.
    changed: how many of `rows`, the first ones, changed or may have.
    total_rows: all cases, of which `rows` may be the first ones. alone: how many more were measured
    on one build alone, which says nothing of versions.
    """
    comparison = compare_versions(selection)
    benchmarks = list(dict.fromkeys(case.benchmark for case in comparison.cases))
    benchmark = selection.benchmark
    if benchmark not in benchmarks:
        benchmark = _most_changed(comparison)
    lines = release_lines(comparison.sides, selection.labels, benchmark, selection.metric.key)

    shared = _measured_twice(comparison)
    cases = comparison.cases if all_rows else shared
    names = short_names(list(selection.labels.values()))
    columns = []
    for build in selection.columns:
        is_base = build == selection.base
        table = None if is_base else comparison.tables[build.build]
        columns.append((comparison.sides[build.build], table))
    rows, changed = changed_first(version_rows(cases, columns, selection.metric))
    return {
        "columns": [(build, names[build.label]) for build in selection.columns],
        "rows": rows if all_rows else rows[:_MOST_ROWS],
        "changed": changed,
        "total_rows": len(shared),
        "alone": len(comparison.cases) - len(shared),
        "all_rows": all_rows,
        "benchmarks": benchmarks,
        "benchmark": benchmark,
        "table": table_rows(lines),
        "slots": slots(line.position for line in lines),
    }


def compare_versions(selection: VersionsSelection) -> VersionComparison:
    """Every build of the selection against its base, kept while the data are the same."""
    builds = tuple(selection.labels)
    source = SideSource(selection.machine.machine)
    fingerprint = data_fingerprint([(source, build) for build in builds], [selection.metric.key])
    return _compare(fingerprint, source, builds, selection.base.build, selection.metric)


@lru_cache(maxsize=4)
def _compare(
    fingerprint: str,
    source: SideSource,
    builds: tuple[int, ...],
    base: int,
    metric: Metric,
) -> VersionComparison:
    """fingerprint: of the data, as a part of the cache's key alone."""
    sides = by_build(source, builds, [metric.key], to_pair=True)
    tables = {}
    for build in builds:
        if build != base:
            tables[build] = compare(sides[base], sides[build], metric)
    return VersionComparison(sides, _ordered_cases(sides.values()), tables)


def _ordered_cases(sides: Iterable[Side]) -> list[ComparedCase]:
    """Every case of the sides in registry order, those of one family together."""
    cases = {}
    for side in sides:
        for key, measured in side.items():
            cases[key] = measured.case
    ordered = sorted(cases.values(), key=attrgetter("place"))
    families = list(dict.fromkeys(case.family for case in ordered))
    return sorted(ordered, key=lambda case: families.index(case.family))


def _measured_twice(comparison: VersionComparison) -> list[ComparedCase]:
    """The cases that two builds or more measured; all of them where there is one build."""
    if len(comparison.sides) < 2:
        return comparison.cases
    counts = Counter(key for side in comparison.sides.values() for key in side)
    return [case for case in comparison.cases if counts[case.key] > 1]


def _most_changed(comparison: VersionComparison) -> str:
    """The benchmark to begin with: what got worse most, else what changed most, else one with the
    most cases.
    """
    changed = [row for table in comparison.tables.values() for row in table.changed]
    worse = [row for row in changed if row.change.verdict == "worse"]
    if changed:
        return max(worse or changed, key=lambda row: row.size).case.benchmark
    counts = _case_counts(comparison.sides)
    return max(counts, key=counts.__getitem__, default="")


def _case_counts(sides: Mapping[int, Side]) -> Counter[str]:
    """Count the cases of each benchmark, over all builds."""
    counts: Counter[str] = Counter()
    for side in sides.values():
        counts.update(key.benchmark for key in side)
    return counts


def versions_figure(selection: VersionsSelection, benchmark: Benchmark) -> Figure:
    """The chart of one benchmark: every plain build, and the variants that measured it."""
    sides = selection.read_sides(benchmark.pk)
    lines = release_lines(sides, selection.labels, benchmark.name, selection.metric.key)
    measured = measured_labels(lines)
    builds = []
    for build in selection.builds:
        if build.base is None or build.label in measured:
            builds.append(build.label)
    return release_figure(lines, selection.metric, builds)


def export_rows(selection: VersionsSelection) -> list[Sequence[Any]]:
    """Every case on every build of the selection in the order of EXPORT_FIELDS."""
    metric = selection.metric
    sides = selection.read_sides()
    rows: list[Sequence[Any]] = []
    for benchmark in _case_counts(sides):
        for row in table_rows(release_lines(sides, selection.labels, benchmark, metric.key)):
            rows.append(
                (
                    benchmark,
                    row.config,
                    metric.key,
                    metric.unit,
                    row.build,
                    row.value,
                    row.low,
                    row.high,
                    row.processes,
                    row.status,
                )
            )
    return rows
