"""Size of a change in words: one rule for the title, the lists, the page and the issue. Pure.

Where an interval is too wide for its estimate to say how much it is, the change is called by the
interval's near end: "at least 79.3% slower"; the estimate and the interval are details of that.
Each function takes the new minus the old level as `wording.effect` does.
"""

from dataclasses import replace

from dashboard.language import wording
from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange, has_two_ends, span

WIDE = 3.0
"""Times its near end: from there on an interval's far end says how little the estimate does."""


def least(low: float | None, high: float | None, unit: str) -> float | None:
    """The near end of an interval in percent that is too wide; None where it is narrow, not known,
    or reads as reaching no change.
    """
    if unit != "percent" or low is None or high is None:
        return None
    near, far = sorted((low, high), key=abs)
    if round(near, 1) == 0 or near * far < 0 or abs(far) <= WIDE * abs(near):
        return None
    return near


def estimate(
    metric: Metric, amount: float | None, low: float | None, high: float | None, unit: str
) -> ValueChange | None:
    """Without the interval, but with its decimals: "6.2% slower", "13% slower". A near end keeps
    one, "at least 3.5% slower": rounded up it would say more than the interval does.
    """
    near = least(low, high, unit)
    if near is None:
        return wording.estimate(metric, amount, low, high, unit)
    change = wording.effect(metric, near, None, None, unit)
    return change and replace(change, text=f"at least {change.text}")


def details(
    metric: Metric, amount: float | None, low: float | None, high: float | None, unit: str
) -> str:
    """Return what `estimate` leaves out: "5.1 to 7.4% slower", "best estimate 455%, interval 79.3
    to 1,616%"; empty where the interval is not known, or its ends read the same.
    """
    if unit != "percent" or low is None or high is None or not has_two_ends(low, high):
        return ""
    interval = span(metric, low, high)
    best = wording.estimate(metric, amount, low, high, unit)
    near = wording.effect(metric, least(low, high, unit), None, None, unit)
    if best is None or near is None:
        return interval
    _, _, far = interval.partition(" to ")
    ends = f"{_number(near.text).rstrip('%')} to {_number(far)}"
    return f"best estimate {_number(best.text)}, interval {ends}"


def in_words(
    metric: Metric, amount: float | None, low: float | None, high: float | None, unit: str
) -> ValueChange | None:
    """Both in one: "6.2% slower (5.1 to 7.4%)", "at least 79.3% slower (best estimate 455%,
    interval 79.3 to 1,616%)".
    """
    if least(low, high, unit) is None:
        return wording.effect(metric, amount, low, high, unit)
    change = estimate(metric, amount, low, high, unit)
    about = details(metric, amount, low, high, unit)
    if change is None or not about:
        return change
    return replace(change, text=f"{change.text} ({about})")


def _number(text: str) -> str:
    """ "79 to 1,616%" of "79 to 1,616% slower": the estimate has said the direction."""
    return f"{text.partition('%')[0]}%"
