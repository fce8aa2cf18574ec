"""Two jobs side by side: what each measured, and what the compiler did differently. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, quantity

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetricPair:
    """One metric of both jobs; change: None where one of them lacks it, without a tone within the
    threshold.
    """

    metric: Metric
    first: str
    second: str
    change: ValueChange | None


def metric_pairs(first: Document, second: Document) -> list[MetricPair]:
    """Every metric that either job measured, in the order of the metrics table; that it passed its
    status says.
    """
    both = [document.get("metrics", {}) for document in (first, second)]
    known = [key for key in METRICS if key != "passed" and any(key in of for of in both)]
    return [_pair(METRICS[key], *(found.get(key, {}) for found in both)) for key in known]


def _pair(metric: Metric, first: Mapping[str, Any], second: Mapping[str, Any]) -> MetricPair:
    told = change(metric, first.get("value"), second.get("value"))
    return MetricPair(
        metric, _text(metric, first), _text(metric, second), _toned(told, metric, first, second)
    )


def _text(metric: Metric, entry: Mapping[str, Any]) -> str:
    return quantity(metric, entry.get("value"), entry.get("low"), entry.get("high"))


def _toned(
    told: ValueChange | None, metric: Metric, first: Mapping[str, Any], second: Mapping[str, Any]
) -> ValueChange | None:
    """A change that the threshold or both intervals explain is neither good nor bad."""
    if told is None or told.percent is None:
        return told
    explained = abs(told.percent) < metric.threshold_percent or _overlap(first, second)
    return replace(told, tone="none") if explained else told


def _overlap(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    ends: list[Any] = [one.get(end) for one in (first, second) for end in ("low", "high")]
    if None in ends:
        return False
    low, high, other_low, other_high = ends
    return bool(low <= other_high and other_low <= high)


def code_kinds(first: Document, second: Document) -> list[tuple[str, bool]]:
    """(kind of generated code, is it the same) for each kind that both jobs have a fingerprint
    of.
    """
    old, new = (
        document.get("compile", {}).get("fingerprints") or {} for document in (first, second)
    )
    return [(kind, old[kind] == new[kind]) for kind in old if old[kind] and new.get(kind)]


def break_reasons(document: Document) -> list[str]:
    """Graph breaks and recompiles in a line each."""
    found: Mapping[str, Iterable[Mapping[str, Any]]] = document.get("compile", {})
    breaks = [
        f"graph break: {one['reason']} ({one.get('location', '')})"
        for one in found.get("graph_breaks", ())
    ]
    return breaks + [f"recompile: {one['reason']}" for one in found.get("recompiles", ())]
