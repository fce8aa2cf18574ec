"""The few numbers of a result document that its page begins with. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.language.contracts import Document
from dashboard.language.metrics import STATUS_METRIC, Metric
from dashboard.language.wording import interval, metric_of, quantity

_FIRST = ("speedup", "latency_ms", "cold_start_s", "peak_memory_gb", "device_ms", "drift")
_EAGER_OF = {  # metric -> what the same job measured of eager
    "latency_ms": "eager_latency_ms",
    "peak_memory_gb": "eager_peak_memory_gb",
    "device_ms": "eager_device_ms",
    "drift": "eager_drift",
}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_MOST = 3  # numbers of a document that has none of the first ones, such as a canary's


@dataclass(frozen=True, slots=True)
class HeadlineNumber:
    """note: eager's value, the interval, or why there is no value: of that the first sentence."""

    metric: Metric
    text: str
    note: str


def headline(document: Document) -> list[HeadlineNumber]:
    """Speed, start, memory, device and exactness; of what was not measured, why."""
    metrics, absent = document.get("metrics", {}), document.get("absent", {})
    numbers = []
    for key in _FIRST:
        if key in metrics:
            numbers.append(_number(key, metrics))
        elif key in absent and document.get("status") == "pass":
            why_not = _SENTENCE_END.split(str(absent[key]), 1)[0]
            numbers.append(HeadlineNumber(metric_of(key), "–", why_not))
    if document.get("status") != "pass" or any(number.text != "–" for number in numbers):
        return numbers
    others = [key for key in metrics if key != STATUS_METRIC]
    return [_number(key, metrics) for key in others[:_MOST]]


def _number(key: str, metrics: Mapping[str, Any]) -> HeadlineNumber:
    metric, entry = metric_of(key), metrics[key]
    low, high = entry.get("low"), entry.get("high")
    note = interval(metric, low, high)
    if key == "speedup" and not note and entry.get("n", 1) > 1:
        note = f"the median of {entry['n']} pairs, too few for an interval"
    eager = metrics.get(_EAGER_OF.get(key, ""))
    if eager is not None:
        note = f"eager {quantity(metric, eager['value'], eager.get('low'), eager.get('high'))}"
    elif key == "cold_start_s" and "break_even_steps" in metrics:
        steps = metrics["break_even_steps"]
        text = quantity(metric_of("break_even_steps"), steps["value"])
        note = f"paid back after {text}"
    return HeadlineNumber(metric, quantity(metric, entry["value"], low, high), note)
