"""Two jobs side by side: what each measured, and what the compiler did differently. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, quantity

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricPair:
    """One metric of both jobs, as text.

    change: None where one of them lacks it, without a tone within the threshold.
    """

    metric: Metric
    first: str
    second: str
    change: ValueChange | None


def metric_pairs(first: Document, second: Document) -> list[MetricPair]:
    """Every metric that either job measured, in the order of the metrics table.

    `passed` is left out: the status says it.
    """
    first_metrics, second_metrics = first.get("metrics", {}), second.get("metrics", {})
    pairs: list[MetricPair] = []
    for key, metric in METRICS.items():
        if key != "passed" and (key in first_metrics or key in second_metrics):
            pairs.append(_pair(metric, first_metrics.get(key, {}), second_metrics.get(key, {})))
    return pairs


def _pair(metric: Metric, first: Mapping[str, Any], second: Mapping[str, Any]) -> MetricPair:
    return MetricPair(
        metric, _text(metric, first), _text(metric, second), _toned_change(metric, first, second)
    )


def _text(metric: Metric, entry: Mapping[str, Any]) -> str:
    return quantity(metric, entry.get("value"), entry.get("low"), entry.get("high"))


def _toned_change(
    metric: Metric, first: Mapping[str, Any], second: Mapping[str, Any]
) -> ValueChange | None:
    """A change that the threshold or both intervals explain is neither good nor bad."""
    value_change = change(metric, first.get("value"), second.get("value"))
    if value_change is None or value_change.percent is None:
        return value_change
    if abs(value_change.percent) < metric.threshold_percent or _overlap(first, second):
        return replace(value_change, tone="none")
    return value_change


def _overlap(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    low, high = first.get("low"), first.get("high")
    other_low, other_high = second.get("low"), second.get("high")
    if low is None or high is None or other_low is None or other_high is None:
        return False
    return bool(low <= other_high and other_low <= high)


def code_kinds(first: Document, second: Document) -> list[tuple[str, bool]]:
    """(kind of generated code, is it the same) for each kind that both jobs have."""
    old = first.get("compile", {}).get("fingerprints") or {}
    new = second.get("compile", {}).get("fingerprints") or {}
    return [(kind, old[kind] == new[kind]) for kind in old if old[kind] and new.get(kind)]


def break_reasons(document: Document) -> list[str]:
    """Graph breaks and recompiles in a line each."""
    compiled: Mapping[str, Any] = document.get("compile", {})
    reasons: list[str] = []
    for graph_break in compiled.get("graph_breaks", ()):
        location = graph_break.get("location", "")
        reasons.append(f"graph break: {graph_break['reason']} ({location})")
    for recompile in compiled.get("recompiles", ()):
        reasons.append(f"recompile: {recompile['reason']}")
    return reasons
