"""Which factor moved a number: effects of factors and of their pairs, from arms that were measured
in turn. Pure; in logs.

Every round measures each arm once, in a new random order, so a round on its device is a block
(Cochran and Cox 1957, Experimental Designs, chapters 4 and 5):

    ln(value) = block's effect + factors' levels + pairs of two factors' levels + process's effect

Blocks' effects are unknown constants, as in block_effects.py. The coefficients are estimated by
ordinary least squares. The variance is that of an arm's own processes around its mean, after the
blocks ("pure error"): what the model leaves out, the interaction of three factors, does not get
into the intervals, and is tested by itself.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.comparisons.core.factorial_design import (
    Cell,
    Contrast,
    Factor,
    Floats,
    design_row,
    estimable_effects,
    is_estimable,
)
from dashboard.comparisons.core.metric_effects import (
    CERTAIN_PROCESSES,
    CHANGED,
    FALSE_DISCOVERY_RATE,
    EffectVerdict,
    describe_change,
    false_discovery_rates,
    interval_verdict,
    repeats_within,
)
from dashboard.comparisons.core.ratios import (
    MIN_PROCESSES,
    Ratio,
    ratios_with_intervals,
    wider_error,
)
from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange

_NEARLY_ZERO = 1e-9


class ArmProcess(NamedTuple):
    """What one process of an arm measured.

    block: its round, on its device, in its session. log: ln(value). error: the standard error of
    `log` within the process; NaN where it is unknown.
    """

    cell: Cell
    block: Hashable
    log: float
    error: float = math.nan


class ArmLevel(NamedTuple):
    """What an arm measured: n processes, their geometric mean, least and largest value."""

    cell: Cell
    n: int
    value: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """One effect in one metric.

    ratio: of a factor, the level against its first; of an interaction, the ratio of two such
        ratios.
    is_beyond_processes: whether it is larger than all that processes of one arm differ by.
    repeats: whether the metric repeats (`repeats_within`), and did in the processes of each arm.
    q, verdict, suspected: as of `metric_effects.Effect`.
    """

    contrast: Contrast
    metric: Metric
    ratio: Ratio
    is_beyond_processes: bool
    repeats: bool
    q: float = math.nan
    verdict: EffectVerdict = "unknown"
    suspected: EffectVerdict | None = None

    @property
    def change(self) -> ValueChange:
        return describe_change(self.ratio, self.verdict, self.metric)

    @property
    def processes(self) -> int:
        return self.ratio.processes

    @property
    def lacks(self) -> str:
        """Why it has no interval, in words; empty where it has one."""
        if self.processes < MIN_PROCESSES:
            return "one process on a side"
        if self.ratio.basis != "repeats":
            return "no combination was measured twice"
        return "" if self.ratio.is_known else "the processes of one combination differ by too much"


@dataclass(frozen=True, slots=True)
class MetricAnalysis:
    """One metric of a factorial.

    aliased: effects that the arms with a value cannot tell from others.
    freedom: degrees of freedom of the variance between processes. spread_percent: its root.
    left_over: p of what the model leaves out, the interaction of three factors; NaN where the arms
        cannot show it, or every process of an arm measured the same.
    """

    metric: Metric
    arms: list[ArmLevel]
    effects: list[FactorEffect]
    aliased: list[Contrast]
    freedom: int
    spread_percent: float
    left_over: float

    @property
    def tests_left_over(self) -> bool:
        return not math.isnan(self.left_over)

    @property
    def factor_effects(self) -> list[FactorEffect]:
        return [effect for effect in self.effects if not effect.contrast.is_interaction]

    @property
    def interactions(self) -> list[FactorEffect]:
        return [effect for effect in self.effects if effect.contrast.is_interaction]


class _Fit(NamedTuple):
    """logs: (processes,). model: (processes, parameters + blocks). residuals: (processes,) around
    the arms' means, after the blocks. variance: of a process, NaN without repeats.
    """

    logs: Floats
    model: Floats
    residuals: Floats
    variance: float
    freedom: int
    left_over: float


def analyse(
    factors: Sequence[Factor], processes: Sequence[ArmProcess], metric: Metric
) -> MetricAnalysis:
    """The effects that these processes show, not judged yet (`judge`). `processes` has one at
    least.
    """
    fit = _fit(factors, processes)
    cells = sorted({process.cell for process in processes})
    effects, aliased = estimable_effects(factors, cells)
    shown, hidden = [], list(aliased)
    for contrast in effects:
        padded = _padded(contrast.row, fit.model)
        if is_estimable(padded, fit.model):
            shown.append(contrast)
        else:  # the arms of which it is made share no block
            hidden.append(contrast)
    return MetricAnalysis(
        metric,
        [_arm_level(cell, processes) for cell in cells],
        _effects(shown, fit, processes, metric),
        hidden,
        fit.freedom,
        100 * math.expm1(math.sqrt(fit.variance)),
        fit.left_over,
    )


def judge(analyses: Sequence[MetricAnalysis]) -> list[MetricAnalysis]:
    """The same with verdicts: one false discovery rate over all effects of all metrics."""
    p = [effect.ratio.p for analysis in analyses for effect in analysis.effects]
    remaining = iter(false_discovery_rates(p))
    judged = []
    for analysis in analyses:
        effects = [_judged(effect, next(remaining)) for effect in analysis.effects]
        judged.append(replace(analysis, effects=effects))
    return judged


def _judged(effect: FactorEffect, q: float) -> FactorEffect:
    """By the rule of `metric_effects.judge`: interval and threshold, false discovery rate, and six
    processes a side, without which a change is suspected.
    """
    verdict = interval_verdict(effect.ratio, effect.metric)
    if verdict not in CHANGED:
        return replace(effect, q=q, verdict=verdict)
    if q > FALSE_DISCOVERY_RATE:
        return replace(effect, q=q)
    is_enough = effect.processes >= CERTAIN_PROCESSES
    if effect.metric.key == "device_ms":
        # Inductor's choices, which are few, explain what processes of one arm differ by, too
        is_enough = is_enough and effect.is_beyond_processes
    if is_enough or effect.repeats:
        return replace(effect, q=q, verdict=verdict)
    return replace(effect, q=q, suspected=verdict)


def _fit(factors: Sequence[Factor], processes: Sequence[ArmProcess]) -> _Fit:
    logs = np.array([process.log for process in processes])
    arms = _indicators([process.cell for process in processes])  # (processes, arms)
    blocks = _indicators([process.block for process in processes])  # (processes, blocks)
    design = np.array([design_row(factors, process.cell) for process in processes])

    # Pure error: every arm has a mean of its own
    saturated = np.hstack([arms, blocks])
    residuals, rank = _residuals(saturated, logs)
    freedom = len(logs) - rank
    squares = float(residuals @ residuals)
    variance = squares / freedom if freedom else math.nan

    # Lack of fit: F = ((squares of the model − squares) / further parameters) / variance
    model = np.hstack([design, blocks])
    model_residuals, model_rank = _residuals(model, logs)
    further = rank - model_rank
    left_over = math.nan
    if further and freedom and variance > 0:
        score = (float(model_residuals @ model_residuals) - squares) / further / variance
        left_over = float(scipy.stats.f.sf(score, further, freedom))
    return _Fit(logs, model, residuals, variance, freedom, left_over)


def _residuals(design: Floats, logs: Floats) -> tuple[Floats, int]:
    """(logs − X · X⁺ · logs, the rank of X)."""
    fitted = design @ (np.linalg.pinv(design) @ logs)
    return _without_rounding(logs - fitted), int(np.linalg.matrix_rank(design))


def _without_rounding(logs: Floats) -> Floats:
    """0 for what rounding leaves of 0. Where each process measured the same, it would pass for a
    variance, and an effect of nothing for significant.
    """
    return np.where(np.abs(logs) < _NEARLY_ZERO, 0.0, logs)


def _indicators(labels: Sequence[Hashable]) -> Floats:
    """(labels, distinct labels): 1 where it has that label."""
    places = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return np.eye(len(places))[[places[label] for label in labels]]


def _padded(row: Floats, model: Floats) -> Floats:
    """(parameters + blocks,): a contrast has no part in the blocks."""
    return np.concatenate([row, np.zeros(model.shape[1] - len(row))])


def _effects(
    contrasts: Sequence[Contrast], fit: _Fit, processes: Sequence[ArmProcess], metric: Metric
) -> list[FactorEffect]:
    if not contrasts:
        return []
    rows = np.array([_padded(contrast.row, fit.model) for contrast in contrasts])
    # An effect is a weighted sum of the logs: w = c · X⁺, its variance σ² · Σ w²
    weights = rows @ np.linalg.pinv(fit.model)  # (effects, processes)
    weights[np.abs(weights) < _NEARLY_ZERO] = 0
    logs = _without_rounding(weights @ fit.logs)
    counts = [_processes(row) for row in weights]
    has_interval = [count >= MIN_PROCESSES and fit.freedom > 0 for count in counts]

    between = fit.variance * np.square(weights).sum(axis=1)
    within = _within(weights, processes)
    errors, freedom = wider_error(between, within, np.full(len(logs), float(fit.freedom)))
    with_intervals = ratios_with_intervals(logs, errors, freedom)
    same = repeats_within(metric)
    repeats = same > 0 and bool(np.ptp(fit.residuals) <= same)
    effects = []
    for place, contrast in enumerate(contrasts):
        ratio = replace(with_intervals[place], processes=counts[place])
        if not has_interval[place]:
            log, count = float(logs[place]), counts[place]
            ratio = Ratio(log, math.nan, 1.0, math.inf, math.nan, "single", processes=count)
        is_beyond = _is_beyond(ratio.log, weights[place], fit.residuals)
        effects.append(FactorEffect(contrast, metric, ratio, is_beyond, repeats))
    return effects


def _within(weights: Floats, processes: Sequence[ArmProcess]) -> Floats:
    """(effects,) The variance that the samples within the processes explain; NaN if unknown."""
    squares = np.square([process.error for process in processes])
    if np.isnan(squares).any():
        return np.full(len(weights), np.nan)
    variances: Floats = np.square(weights) @ squares
    return variances


def _processes(weights: Floats) -> int:
    """How many processes the side of an effect has that has fewer: (Σ w)² / Σ w² of the positive
    and of the negative weights, which is their number where all weigh the same (Kish 1965).
    """
    sizes = []
    for side in (weights[weights > 0], -weights[weights < 0]):
        sizes.append(side.sum() ** 2 / np.square(side).sum() if len(side) else 0.0)
    return int(min(sizes) + _NEARLY_ZERO)


def _is_beyond(log: float, weights: Floats, residuals: Floats) -> bool:
    """Whether no process of one side reaches one of the other: the effect is larger than the
    distance of the residuals that lie nearest to each other.
    """
    rising, falling = residuals[weights > 0], residuals[weights < 0]
    if not (len(rising) and len(falling)):
        return False
    if log < 0:
        rising, falling = falling, rising
    return bool(abs(log) + rising.min() - falling.max() > 0)


def _arm_level(cell: Cell, processes: Sequence[ArmProcess]) -> ArmLevel:
    logs = [process.log for process in processes if process.cell == cell]
    values = math.exp(math.fsum(logs) / len(logs)), math.exp(min(logs)), math.exp(max(logs))
    return ArmLevel(cell, len(logs), *values)
