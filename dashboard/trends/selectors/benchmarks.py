"""The page of benchmarks: the cases of one place that fit its filters, as matrix and as export."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.comparisons.selectors import build_cases
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild
from dashboard.language.metrics import METRICS
from dashboard.results.selectors.build_order import newest_first
from dashboard.results.selectors.rollup import case_rollups
from dashboard.trends.selectors.matrix import Matrix, make_matrix
from dashboard.trends.selectors.matrix_cells import SPEEDUP, MatrixCell, MatrixQuery
from dashboard.ui.locations import SeriesLocation

FILTERS = ("family", "model", "mode", "dtype", "size")
EXPORT_FIELDS = (
    "benchmark",
    "family",
    "mode",
    "dtype",
    "config",
    "benchmark_version",
    "metric",
    "unit",
    "build",
    "status",
    "value",
    "low",
    "high",
    "base",
    "base_value",
    "change_percent",
    "job",
)


@dataclass(frozen=True, slots=True)
class BenchmarksParameters:
    """Parameters in the address, as they stand there.

    What does not exist is ignored: an old link shows more, not an error.
    """

    metric: str
    build: str
    base: str
    status: str
    order: str
    filters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BenchmarksPage:
    """Contents of the page.

    builds, metrics: what was measured at the place.
    build: empty for the newest build, and older ones for the cases that it did not measure.
    choices: filter -> the values that it can have. chosen: filter -> its value, or empty.
    """

    builds: list[MeasuredBuild]
    metrics: set[str]
    build: str
    base: str
    query: MatrixQuery
    matrix: Matrix
    choices: Mapping[str, list[str]]
    chosen: Mapping[str, str]


def benchmarks_page(place: SeriesLocation, parameters: BenchmarksParameters) -> BenchmarksPage:
    """The page at one place. Five to nine queries."""
    builds = build_cases.builds(place)
    by_label = {build.label: build for build in builds}
    build = _existing(parameters.build, by_label)
    base = _existing(parameters.base, by_label)

    metrics = build_cases.metrics(place)
    measured = [key for key in METRICS if key in metrics]
    # Imports may lack the speedup
    usual = SPEEDUP.key if SPEEDUP.key in metrics or not measured else measured[0]
    metric = METRICS[_existing(parameters.metric, metrics) or usual]
    base_cases = None
    if base:
        rollups = build_cases.read(place, by_label[base], [metric.key])
        base_cases = {(case.benchmark, case.config): case for case in rollups}
    newest = newest_first(place)
    query = MatrixQuery(
        metric, base_cases, parameters.status, parameters.order, [*by_label], newest[0].label
    )
    if build:
        cases = build_cases.read(place, by_label[build], query.metrics)
    else:
        cases = case_rollups(place, newest, query.metrics)
    choices, chosen = {}, {}
    for name in FILTERS:
        choices[name] = list(dict.fromkeys(getattr(case, name) for case in cases))
        chosen[name] = _existing(parameters.filters.get(name, ""), choices[name])
    for name, value in chosen.items():
        if value:
            cases = [case for case in cases if getattr(case, name) == value]

    matrix = make_matrix(cases, query)
    return BenchmarksPage(builds, metrics, build, base, query, matrix, choices, chosen)


def _existing(requested: str, values: Collection[str]) -> str:
    return requested if requested in values else ""


def export_rows(page: BenchmarksPage) -> list[Sequence[Any]]:
    """Every case of the page in the order of EXPORT_FIELDS, nothing rounded."""
    rows = []
    for row in page.matrix.rows:
        for cell in row.cells:
            if cell:
                rows.append(_export_row(cell, page))
    return rows


def _export_row(cell: MatrixCell, page: BenchmarksPage) -> Sequence[Any]:
    case, metric = cell.case, page.query.metric
    newest = None if case.failed else case.newest.get(metric.key)
    source = newest or case.latest
    return (
        case.benchmark,
        case.family,
        case.mode,
        case.dtype,
        case.config,
        case.version,
        metric.key,
        metric.unit,
        source and source.build,
        case.status or "pass",
        newest and newest.value,
        newest and newest.low,
        newest and newest.high,
        page.base,
        page.query.base_value(case),
        cell.change and cell.change.percent,
        source and source.job,
    )
