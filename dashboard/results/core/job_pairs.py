"""Two jobs side by side: what each measured, and what the compiler did differently. Pure."""

from collections import Counter
from dataclasses import dataclass, replace

from dashboard.language.contracts import Document
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, is_count, quantity, quiet
from dashboard.results.core.report import COMPILE_WORK

_LEFT_OUT = ("eager_fallbacks", "cudagraph_skips")  # work that the compiler did not do


@dataclass(frozen=True, slots=True)
class MetricPair:
    """One metric of both jobs, as text.

    change: None where one of them lacks it. One process each: only of counts it has a tone, and of
        those of compile work only where less was compiled: more kernels may make a faster step.
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
    pairs = []
    for key, metric in METRICS.items():
        if key != "passed" and (key in first_metrics or key in second_metrics):
            old, new = first_metrics.get(key, {}), second_metrics.get(key, {})
            texts = _text(metric, old), _text(metric, new)
            pairs.append(MetricPair(metric, *texts, _change(metric, old, new)))
    return pairs


def _change(metric: Metric, old: Document, new: Document) -> ValueChange | None:
    moved = quiet(change(metric, old.get("value"), new.get("value")), metric)
    if moved and is_count(metric) and metric.key in COMPILE_WORK and metric.key not in _LEFT_OUT:
        return replace(moved, tone="none")
    return moved


def _text(metric: Metric, entry: Document) -> str:
    return quantity(metric, entry.get("value"), entry.get("low"), entry.get("high"))


def code_kinds(first: Document, second: Document) -> list[tuple[str, bool]]:
    """(kind of generated code, is it the same) for each kind that both jobs have."""
    old = first.get("compile", {}).get("fingerprints") or {}
    new = second.get("compile", {}).get("fingerprints") or {}
    return [(kind, old[kind] == new[kind]) for kind in old if old[kind] and new.get(kind)]


def added_graph_breaks(base: Document, new: Document) -> list[Document]:
    """Graph breaks of a job's `compile` section that the other's has not.

    Lines shift when a file is edited, and the two sides' files may have two names: the same are
    those with the same reason in a function of the same name.
    """
    remaining = Counter(map(_reason_and_function, base.get("graph_breaks", ())))
    added = []
    for graph_break in new.get("graph_breaks", ()):
        identity = _reason_and_function(graph_break)
        if remaining[identity]:
            remaining[identity] -= 1
        else:
            added.append(graph_break)
    return added


def _reason_and_function(graph_break: Document) -> tuple[str, str]:
    return graph_break["reason"], graph_break.get("location", "").rpartition(" in ")[2]


def break_reasons(document: Document) -> list[str]:
    """Graph breaks and recompiles in a line each."""
    compiled: Document = document.get("compile", {})
    reasons = []
    for graph_break in compiled.get("graph_breaks", ()):
        location = graph_break.get("location", "")
        reasons.append(f"graph break: {graph_break['reason']} ({location})")
    for recompile in compiled.get("recompiles", ()):
        reasons.append(f"recompile: {recompile['reason']}")
    return reasons
