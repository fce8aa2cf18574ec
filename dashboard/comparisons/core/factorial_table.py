"""What the page of a factorial shows: one row for each effect, on both clocks and next to them.
Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.comparisons.core.case_table import reach_of
from dashboard.comparisons.core.factorial import ArmLevel, FactorEffect, MetricAnalysis
from dashboard.comparisons.core.factorial_design import Cell, Contrast, Factor
from dashboard.comparisons.core.factorial_words import (
    aliased_text,
    exchange_text,
    level_text,
    scope_text,
    title_of,
)
from dashboard.language.metrics import Metric

STEP_METRICS = ("latency_ms", "device_ms")  # the step on both clocks; the others stand below
_NOT_YET = "not enough combinations have ended yet"


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One effect in several metrics. why: it cannot be estimated; empty where it can."""

    what: str
    over: str
    is_interaction: bool
    effects: list[FactorEffect | None]
    why: str = ""


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm. levels: the name of each factor, and its level. values: in each metric, None where
    it has none.
    """

    cell: Cell
    levels: list[tuple[str, str]]
    values: list[ArmLevel | None]


@dataclass(frozen=True, slots=True)
class FactorialTable:
    """steps, others: the metrics of the columns. reach: of the axis of the steps, percent."""

    factor_names: list[str]
    steps: list[Metric]
    others: list[Metric]
    factor_rows: list[EffectRow]
    interaction_rows: list[EffectRow]
    other_rows: list[EffectRow]
    arms: list[ArmRow]
    reach: float

    @property
    def columns(self) -> int:
        """Of the table of the steps, without that of the row's name."""
        return 2 * len(self.steps) + 1


def table_of(
    factors: Sequence[Factor], analyses: Mapping[str, MetricAnalysis], *, is_over: bool
) -> FactorialTable:
    """is_over: nothing is measured any more."""
    steps = [analyses[key] for key in STEP_METRICS if key in analyses]
    others = [analysis for key, analysis in analyses.items() if key not in STEP_METRICS]
    rows = _rows(factors, steps, is_over=is_over)
    return FactorialTable(
        factor_names=[title_of(factor.name) for factor in factors],
        steps=[analysis.metric for analysis in steps],
        others=[analysis.metric for analysis in others],
        factor_rows=[row for row in rows if not row.is_interaction],
        interaction_rows=[row for row in rows if row.is_interaction],
        other_rows=[row for row in _rows(factors, others, is_over=is_over) if not row.why],
        arms=_arms(factors, steps),
        reach=reach_of([effect.ratio for analysis in steps for effect in analysis.effects]),
    )


def _rows(
    factors: Sequence[Factor], analyses: Sequence[MetricAnalysis], *, is_over: bool
) -> list[EffectRow]:
    """In the order of the factors; what no metric shows says why."""
    contrasts: dict[tuple[str, str], Contrast] = {}
    hidden: dict[tuple[str, str], Contrast] = {}
    for analysis in analyses:
        for effect in analysis.effects:
            contrasts.setdefault(_key(factors, effect.contrast), effect.contrast)
        for contrast in analysis.aliased:
            hidden.setdefault(_key(factors, contrast), contrast)
    rows = []
    for key, contrast in contrasts.items():
        effects = [_effect(factors, analysis, key) for analysis in analyses]
        rows.append(EffectRow(*key, contrast.is_interaction, effects))
    for key, contrast in hidden.items():
        if key not in contrasts:
            why = aliased_text(contrast) if is_over else _NOT_YET
            rows.append(EffectRow(*key, contrast.is_interaction, [], why))
    return rows


def _key(factors: Sequence[Factor], contrast: Contrast) -> tuple[str, str]:
    return exchange_text(factors, contrast), scope_text(factors, contrast)


def _effect(
    factors: Sequence[Factor], analysis: MetricAnalysis, key: tuple[str, str]
) -> FactorEffect | None:
    for effect in analysis.effects:
        if _key(factors, effect.contrast) == key:
            return effect
    return None


def _arms(factors: Sequence[Factor], steps: Sequence[MetricAnalysis]) -> list[ArmRow]:
    by_cell: dict[Cell, list[ArmLevel | None]] = {}
    for place, analysis in enumerate(steps):
        for arm in analysis.arms:
            by_cell.setdefault(arm.cell, [None] * len(steps))[place] = arm
    rows = []
    for cell, values in sorted(by_cell.items()):
        levels = []
        for factor, level in zip(factors, cell, strict=True):
            levels.append((title_of(factor.name), level_text(factor, level)))
        rows.append(ArmRow(cell, levels, values))
    return rows
