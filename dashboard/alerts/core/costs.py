"""Cost of a change, by which the queue of alerts and the first page are ordered. Pure."""

from dataclasses import dataclass
from typing import Literal

from dashboard.language import wording
from dashboard.language.metrics import Metric

Paid = Literal["failure", "step", "start", "else", "setting"]
PAID: tuple[Paid, ...] = ("failure", "step", "start", "else", "setting")
"""Seconds of a start do not sort among milliseconds of a step. Last, what settings cost."""
STEPS = ("latency_ms", "device_ms")


@dataclass(frozen=True, slots=True)
class Cost:
    """size: "+48 %". text: "+23 ms a step", where it is known. weight: in milliseconds or percent.

    share: of the old level what the new one is; 0 where it is not known.
    """

    paid: Paid
    size: str = ""
    text: str = ""
    weight: float = 0.0
    share: float = 0.0


def cost_of(metric: Metric, effect: float, unit: str, level: float | None) -> Cost:
    """Cost of a change of level. effect: in `unit`. level: before it, where that is known."""
    if unit != "percent":
        return Cost("else", wording.signed(effect), weight=abs(effect))
    amount = f"{wording.signed(effect) if abs(effect) < 10 else f'{effect:+.0f}'} %"
    text = amount.replace("-", "−").replace(".0 ", " ")
    paid: Paid = "else"
    if metric.key in STEPS:
        paid = "step"
    elif metric.unit == "s":
        paid = "start"
    if level is None or paid == "else":
        return Cost(paid, text, weight=abs(effect))
    more = level * effect / 100
    sign, each = "+" if more > 0 else "−", " a step" if paid == "step" else ""
    cost = f"{sign}{wording.quantity(metric, abs(more))}{each}"
    weight = abs(more) * (1000 if metric.unit == "s" else 1)
    return Cost(paid, text, cost, weight, 1 + effect / 100)
