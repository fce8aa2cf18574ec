"""Benchmarks × configs at one place: the speedup of every case, and how the others failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.metrics import METRICS
from dashboard.selectors.rollup import EAGER, Case, Place, cases
from dashboard.wording import interval, quantity

FILTERS = ("family", "mode", "dtype", "size")
_METRICS = ("speedup", "latency_ms")
_HEAT_STEPS = (1.02, 1.10, 1.25, 1.50)  # a speedup beyond the n-th is n steps warm; its reciprocal n steps cold


@dataclass(frozen=True, slots=True)
class Cell:
    """One case as the matrix shows it.

    text: speedup, or latency for the eager control, or the status word. heat: −4 (slower) … 4 (faster).
    about: what hover and screen readers add.
    """

    case: Case
    text: str
    heat: int
    about: str


@dataclass(frozen=True, slots=True)
class Row:
    benchmark: str
    family: str
    mode: str
    dtype: str
    cells: list[Cell | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    configs: list[str]
    rows: list[Row]
    measured: int
    failed: int

    @property
    def width(self) -> int:
        return 1 + len(self.configs)


def read(place: Place) -> list[Case]:
    """The cases of the place. One query."""
    return cases(place, _METRICS)


def matrix(found: Sequence[Case], status: str = "") -> Matrix:
    """The table of ``found``; ``status`` keeps the benchmarks of which a case has it ("failed": any but pass)."""
    configs = [config for _, config in sorted({(case.config_position, case.config) for case in found})]
    by_benchmark: dict[str, dict[str, Case]] = {}
    families = list(dict.fromkeys(case.family for case in found))
    for case in sorted(found, key=lambda case: families.index(case.family)):
        by_benchmark.setdefault(case.benchmark, {})[case.config] = case
    rows = [_row(by_config, configs) for by_config in by_benchmark.values() if _has(by_config.values(), status)]
    shown = [cell.case for row in rows for cell in row.cells if cell]
    return Matrix(configs, rows, len(shown), sum(case.failed for case in shown))


def _has(row: Iterable[Case], status: str) -> bool:
    return not status or any(case.status == status or (status == "failed" and case.failed) for case in row)


def _row(by_config: dict[str, Case], configs: Sequence[str]) -> Row:
    first = next(iter(by_config.values()))
    cells = [cell(by_config[config]) if config in by_config else None for config in configs]
    return Row(first.benchmark, first.family, first.mode, first.dtype, cells)


def cell(case: Case) -> Cell:
    """What the matrix says about one case."""
    latency, speedup = case.newest.get("latency_ms"), case.newest.get("speedup")
    if case.failed:
        return Cell(case, case.status, 0, "the last job ended so")
    taken = quantity(METRICS["latency_ms"], latency.value, latency.low, latency.high) if latency else "no latency"
    if case.config == EAGER or speedup is None or speedup.value is None:
        return Cell(case, taken, 0, "the eager control" if case.config == EAGER else "no speedup was measured")
    ends = interval(METRICS["speedup"], speedup.low, speedup.high)
    about = f"{taken} per step" + (f"; 95 % interval {ends}" if ends else "")
    return Cell(case, quantity(METRICS["speedup"], speedup.value), heat(speedup.value), about)


def heat(speedup: float | None) -> int:
    """−4 … 4: how far from 1 a speedup is, in steps that are symmetric by ratio; 0 where there is none."""
    if not speedup or speedup <= 0:
        return 0
    size = max(speedup, 1 / speedup)
    steps = sum(size >= step for step in _HEAT_STEPS)
    return steps if speedup >= 1 else -steps
