"""Benchmarks × configs at one place: any metric of every case, how it changed against a base, and
how others failed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from dashboard.language.metrics import EAGER, METRICS, Metric
from dashboard.language.wording import ValueChange, change, interval, is_count, quantity
from dashboard.results.selectors.rollup import CaseRollup, case_rollups
from dashboard.ui.locations import SeriesLocation

FILTERS = ("family", "model", "mode", "dtype", "size")
ORDERS = {"": "as registered", "name": "by name", "worst": "worst first", "best": "best first"}
SPEEDUP = METRICS["speedup"]
# a speedup beyond the n-th is n steps warm; its reciprocal n steps cold
_HEAT_STEPS = (1.02, 1.10, 1.25, 1.50)
# Times the metric's threshold; of what is counted, plain differences
_CHANGE_STEPS = (1, 2.5, 5, 10)


class Cell(NamedTuple):
    """One case as the matrix shows it. A tuple: a page makes thousands of them.

    text: the value, its change against the base, or the status word. heat: −4 (worse) … 4 (better).
        about: what hover
    and screen readers add. goodness: what it is sorted by, larger is better; None where there is
    nothing to sort by.
    """

    case: CaseRollup
    text: str
    heat: int
    about: str
    goodness: float | None = None
    change: ValueChange | None = None


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One benchmark with its cells in the order of the configs."""

    benchmark: str
    family: str
    mode: str
    dtype: str
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """means: family -> the geomean of each config's column, as text; empty where rows are not
    grouped by family.
    """

    configs: list[str]
    rows: list[MatrixRow]
    measured: int
    failed: int
    means: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatrixQuery:
    """What the matrix shows. base: the cases of the base build by (benchmark, config); None without
    a base.

    order: a key of ORDERS, or a config, best first; with "-" before it worst first.
    """

    metric: Metric = SPEEDUP
    base: Mapping[tuple[str, str], CaseRollup] | None = None
    status: str = ""
    order: str = ""

    @property
    def read(self) -> set[str]:
        """The metrics that its cells need."""
        return {"speedup", "latency_ms", self.metric.key}


def read(place: SeriesLocation, asked: MatrixQuery) -> list[CaseRollup]:
    """The newest result of every case of the place. One query."""
    return case_rollups(place, asked.read)


def matrix(found: Sequence[CaseRollup], asked: MatrixQuery) -> Matrix:
    """The table of ``found``; a status keeps the benchmarks of which a case has it ("failed": any
    but pass).
    """
    configs = [
        config for _, config in sorted({(case.config_position, case.config) for case in found})
    ]
    by_benchmark: dict[str, dict[str, CaseRollup]] = {}
    families = {
        family: place for place, family in enumerate(dict.fromkeys(case.family for case in found))
    }
    for case in sorted(found, key=lambda case: families[case.family]):
        by_benchmark.setdefault(case.benchmark, {})[case.config] = case
    kept = [one for one in by_benchmark.values() if _has(one.values(), asked.status)]
    rows = _ordered([_row(by_config, configs, asked) for by_config in kept], configs, asked.order)
    shown = [cell for row in rows for cell in row.cells if cell]
    means = {} if asked.order else _means(rows, asked)
    return Matrix(configs, rows, len(shown), sum(cell.case.failed for cell in shown), means)


def _has(row: Iterable[CaseRollup], status: str) -> bool:
    return not status or any(
        (case.status or "pass") == status or (status == "failed" and case.failed) for case in row
    )


def _row(by_config: dict[str, CaseRollup], configs: Sequence[str], asked: MatrixQuery) -> MatrixRow:
    first = next(iter(by_config.values()))
    cells = [cell(by_config[config], asked) if config in by_config else None for config in configs]
    return MatrixRow(first.benchmark, first.family, first.mode, first.dtype, cells)


# --- Cells
# --------------------------------------------------------------------------------------------------
def cell(case: CaseRollup, asked: MatrixQuery) -> Cell:
    """What the matrix says about one case."""
    if case.failed:
        return Cell(case, case.status, 0, "the last job ended so")
    if case.config == EAGER and asked.metric == SPEEDUP:
        return Cell(case, _latency(case), 0, "the eager control")
    newest = case.newest.get(asked.metric.key)
    if newest is None or newest.value is None:
        return Cell(
            case,
            _latency(case) if asked.metric == SPEEDUP else "–",
            0,
            f"no {_name(asked.metric)} was measured",
        )
    if asked.base is not None:
        return _against(
            case, newest.value, asked.base.get((case.benchmark, case.config)), asked.metric
        )
    ends = interval(asked.metric, newest.low, newest.high)
    told = f"{_latency(case)} per step" if asked.metric == SPEEDUP else _speedup(case)
    about = "; ".join(part for part in (told, f"95 % interval {ends}" if ends else "") if part)
    goodness = -newest.value if asked.metric.lower_is_better else newest.value
    return Cell(
        case, quantity(asked.metric, newest.value), heat(case.value("speedup")), about, goodness
    )


def _against(case: CaseRollup, value: float, base: CaseRollup | None, metric: Metric) -> Cell:
    before = base.value(metric.key) if base else None
    text = quantity(metric, value)
    if before is None or base is None:
        why = (
            f"the base ended with {base.status}"
            if base and base.failed
            else "not measured with the base"
        )
        return Cell(case, text, 0, f"{why}: no change to tell")
    moved = change(metric, before, value)
    step = change_heat(metric, before, value)
    ratio = abs(math.log(value / before)) if value > 0 and before > 0 else abs(value - before)
    better = (value < before) == metric.lower_is_better
    about = f"{quantity(metric, before)} before, {text} now"
    return Cell(
        case, moved.text if moved else text, step, about, ratio if better else -ratio, moved
    )


def _latency(case: CaseRollup) -> str:
    latency = case.newest.get("latency_ms")
    return (
        quantity(METRICS["latency_ms"], latency.value, latency.low, latency.high)
        if latency
        else "no latency"
    )


def _speedup(case: CaseRollup) -> str:
    value = case.value("speedup")
    return f"speedup {quantity(SPEEDUP, value)}" if value and case.config != EAGER else ""


def _name(metric: Metric) -> str:
    return metric.label if metric.label[:2].isupper() else metric.label.lower()


def heat(speedup: float | None) -> int:
    """−4 … 4: how far from 1 a speedup is, in steps that are symmetric by ratio; 0 where there is
    none.
    """
    if not speedup or speedup <= 0:
        return 0
    size = max(speedup, 1 / speedup)
    steps = sum(size >= step for step in _HEAT_STEPS)
    return steps if speedup >= 1 else -steps


def change_heat(metric: Metric, old: float, new: float) -> int:
    """−4 … 4: how far ``new`` is from ``old``, negative where it is worse, in steps of
    `change_steps`.
    """
    counted = is_count(metric) or old <= 0 or new <= 0
    size = abs(new - old) if counted else 100 * (max(new / old, old / new) - 1)
    steps = sum(size >= step for step in (_CHANGE_STEPS if counted else change_steps(metric)))
    return steps if (new < old) == metric.lower_is_better else -steps


@cache
def change_steps(metric: Metric) -> tuple[float, ...]:
    """The changes at which a cell becomes warmer or colder: percent; of what is counted, plain
    differences.
    """
    return tuple(step * (metric.threshold_percent or 1) for step in _CHANGE_STEPS)


# --- Rows together
# ------------------------------------------------------------------------------------------
def _ordered(rows: list[MatrixRow], configs: Sequence[str], order: str) -> list[MatrixRow]:
    """By the whole row, or by the column of one config; what has nothing to sort by comes last."""
    if order == "name":
        return sorted(rows, key=lambda row: row.benchmark)
    if order in {"worst", "best"}:
        ends = {id(row): _end(row.cells, worst=order == "worst") for row in rows}
        return _sorted(rows, ends, worst=order == "worst")
    config = order.removeprefix("-")
    if config not in configs:
        return rows
    column = configs.index(config)
    worst = order.startswith("-")
    return _sorted(
        rows, {id(row): _end([row.cells[column]], worst=worst) for row in rows}, worst=worst
    )


def _end(cells: Iterable[Cell | None], *, worst: bool) -> float | None:
    """The worst, or the best, of some cells; a failure is worse than any value."""
    known = [-math.inf if cell.case.failed else cell.goodness for cell in cells if cell]
    found = [value for value in known if value is not None and (worst or value != -math.inf)]
    return (min if worst else max)(found, default=None)


def _sorted(
    rows: list[MatrixRow], ends: Mapping[int, float | None], *, worst: bool
) -> list[MatrixRow]:
    def key(row: MatrixRow) -> tuple[bool, float]:
        end = ends[id(row)]
        return end is None, (end if worst else -end) if end is not None else 0.0

    return sorted(rows, key=key)


def _means(rows: Sequence[MatrixRow], asked: MatrixQuery) -> dict[str, list[str]]:
    """The geomean of each config over the benchmarks of a family: of the values, or of the changes
    against the base.
    """
    if asked.metric.aggregate != "geomean":
        return {}
    columns: dict[str, list[list[Cell]]] = {}
    for row in rows:
        known = columns.setdefault(row.family, [[] for _ in row.cells])
        for column, one in zip(known, row.cells, strict=True):
            column.extend([one] if one else [])
    return {family: [_mean(column, asked) for column in known] for family, known in columns.items()}


def _mean(cells: Sequence[Cell], asked: MatrixQuery) -> str:
    known = [cell for cell in cells if cell.goodness is not None and not cell.case.failed]
    pairs = [(cell.case.value(asked.metric.key), _before(cell, asked)) for cell in known]
    logs = [
        math.log(value / before)
        for value, before in pairs
        if value and before and value > 0 and before > 0
    ]
    if not logs:
        return ""
    mean = math.exp(math.fsum(logs) / len(logs))
    if asked.base is None:
        return quantity(asked.metric, mean)
    moved = change(asked.metric, 1.0, mean)
    return moved.text if moved else ""


def _before(cell: Cell, asked: MatrixQuery) -> float | None:
    """What a cell's value is held against in a mean: the base's value, or 1."""
    if asked.base is None:
        return 1.0
    base = asked.base.get((cell.case.benchmark, cell.case.config))
    return base.value(asked.metric.key) if base else None
