"""A factorial as files and as the API answers it. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dashboard.comparisons.core.factorial import FactorEffect, MetricAnalysis
from dashboard.comparisons.core.factorial_design import Cell, Contrast, Factor
from dashboard.comparisons.core.factorial_words import (
    aliased_text,
    exchange_text,
    level_text,
    scope_text,
)
from dashboard.language.exports import csv_text

FIELDS = (
    "metric",
    "unit",
    "kind",
    "what",
    "over",
    "change_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "suspected",
    "q",
    "processes",
    "value",
    "least",
    "most",
    "why",
)


def csv(factors: Sequence[Factor], analyses: Mapping[str, MetricAnalysis]) -> str:
    """Every effect and every arm in every metric."""
    lines = []
    for row in rows(factors, analyses):
        lines.append([row.get(name) for name in FIELDS])
    return csv_text(FIELDS, lines)


def rows(
    factors: Sequence[Factor], analyses: Mapping[str, MetricAnalysis]
) -> Iterator[dict[str, Any]]:
    """kind: effect, interaction, aliased or arm."""
    for analysis in analyses.values():
        metric = {"metric": analysis.metric.key, "unit": analysis.metric.unit}
        for effect in analysis.effects:
            yield {**metric, **effect_fields(factors, effect)}
        for contrast in analysis.aliased:
            yield {**metric, **_aliased_fields(factors, contrast)}
        for arm in analysis.arms:
            levels = ", ".join(levels_by_name(factors, arm.cell).values())
            yield {
                **metric,
                "kind": "arm",
                "what": levels,
                "processes": arm.n,
                "value": arm.value,
                "least": arm.least,
                "most": arm.most,
            }


def effect_fields(factors: Sequence[Factor], effect: FactorEffect) -> dict[str, Any]:
    """One effect; low_percent and high_percent are None where it has no interval."""
    ratio, is_known = effect.ratio, effect.ratio.is_known
    return {
        "kind": "interaction" if effect.contrast.is_interaction else "effect",
        "what": exchange_text(factors, effect.contrast),
        "over": scope_text(factors, effect.contrast),
        "change_percent": ratio.percent,
        "low_percent": ratio.low if is_known else None,
        "high_percent": ratio.high if is_known else None,
        "verdict": effect.verdict,
        "suspected": effect.suspected or "",
        "q": None if math.isnan(effect.q) else effect.q,
        "processes": effect.processes,
        "why": effect.lacks,
    }


def levels_by_name(factors: Sequence[Factor], cell: Cell) -> dict[str, str]:
    """The level of each factor in an arm."""
    levels = {}
    for factor, level in zip(factors, cell, strict=True):
        levels[factor.name] = level_text(factor, level)
    return levels


def document(analysis: MetricAnalysis, factors: Sequence[Factor]) -> dict[str, Any]:
    """One metric as the API answers it."""
    arms = []
    for arm in analysis.arms:
        arms.append(
            {
                "levels": levels_by_name(factors, arm.cell),
                "processes": arm.n,
                "value": arm.value,
                "least": arm.least,
                "most": arm.most,
            }
        )
    return {
        "metric": analysis.metric.key,
        "unit": analysis.metric.unit,
        "effects": [effect_fields(factors, effect) for effect in analysis.effects],
        "aliased": [exchange_text(factors, contrast) for contrast in analysis.aliased],
        "arms": arms,
        "spread_percent": _or_none(analysis.spread_percent),
        "degrees_of_freedom": analysis.freedom,
        "left_over_p": _or_none(analysis.left_over),
    }


def _aliased_fields(factors: Sequence[Factor], contrast: Contrast) -> dict[str, Any]:
    return {
        "kind": "aliased",
        "what": exchange_text(factors, contrast),
        "why": aliased_text(contrast),
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
