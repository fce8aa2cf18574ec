"""What the first page shows: speedups by family, what moved, who works."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.metrics import METRICS, Metric
from dashboard.selectors.rollup import EAGER, Case, Geomean, Newest, Place, cases, geomean
from dashboard.wording import Change, change

MOVING_METRICS = ("latency_ms", "cold_start_s", "peak_memory_gb")


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family in one mode: the geomean speedup of every config, in the order of the configs given to the table."""

    family: str
    mode: str
    cells: list[Geomean | None]


@dataclass(frozen=True, slots=True)
class FamilyTable:
    configs: list[str]
    rows: list[FamilyRow]


@dataclass(frozen=True, slots=True)
class Mover:
    """A series whose newest value left the interval that it should lie in, by more than the metric's threshold."""

    case: Case
    metric: Metric
    newest: Newest
    change: Change


def read(place: Place) -> list[Case]:
    """All cases of the place with what this page needs. One query."""
    return cases(place, ("speedup", *MOVING_METRICS))


def family_table(found: Sequence[Case]) -> FamilyTable:
    """Geomean speedup by family and mode (rows) and config (columns); eager is the control, not a column."""
    groups: dict[tuple[str, str], dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    for case in found:
        if case.config != EAGER:
            groups[case.family, case.mode][case.config].append(case)
    families = list(dict.fromkeys(family for family, _ in groups))
    configs = [
        config for _, config in sorted({(case.config_position, case.config) for case in found if case.config != EAGER})
    ]
    rows = [
        FamilyRow(
            family, mode, [geomean(by_config[config], "speedup") if config in by_config else None for config in configs]
        )
        for (family, mode), by_config in sorted(groups.items(), key=lambda group: families.index(group[0][0]))
    ]
    return FamilyTable(configs, rows)


def movers(found: Sequence[Case]) -> list[Mover]:
    """What changed since the previous point: first what got worse, the largest change first."""
    moved = [mover for case in found for metric in MOVING_METRICS if (mover := _mover(case, METRICS[metric]))]
    return sorted(moved, key=lambda mover: (mover.change.tone != "bad", -abs(mover.change.percent or 0)))


def _mover(case: Case, metric: Metric) -> Mover | None:
    newest = case.newest.get(metric.key)
    if newest is None or not newest.previous or newest.value is None:
        return None
    if abs(newest.value / newest.previous - 1) * 100 < metric.threshold_percent:
        return None
    if newest.low is not None and newest.high is not None and newest.low <= newest.previous <= newest.high:
        return None
    moved = change(metric, newest.previous, newest.value)
    return Mover(case, metric, newest, moved) if moved else None
