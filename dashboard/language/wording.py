"""Numbers and changes as people read them: units, sensible digits, directions in words. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from dashboard.language.metrics import METRICS, Metric

Tone = Literal["good", "bad", "none", "unknown"]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALLEST = 1e-300  # of floating point numbers with all their digits
_NEAR = range(-4, 9)  # powers of ten of numbers that are written with plain digits
_ABSENT = "–"
_ATTACHED = ("×", "%")  # units that stand next to their number
_WHOLE = 100  # percent from here on have no decimals
# Percentage points: a percentage whose interval is as wide or wider is written without decimals,
# and so are the ends of the interval
_VAGUE = 10
_LEAST = 0.05  # percent; less is rounded to none, and has no direction
LEAST_SHORT = 0.1  # ratios from here on have two decimals; a smaller one would keep a single digit

# unit of a metric -> (word for a smaller value, word for a larger one)
_DIRECTIONS = {
    "ms": ("faster", "slower"),
    "s": ("shorter", "longer"),  # cold and warm starts, compile times: nothing that runs at a speed
    "GB": ("less memory", "more memory"),
    "MB": ("less memory", "more memory"),
    "steps": ("sooner", "later"),
}
_ACCURACY = ("more accurate", "less accurate")  # the same of drift


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A change between two values of one metric.

    text: "3.2% slower", "2 more", "unchanged".
    tone: whether that is good or bad by the metric's direction; unknown: it may be the spread.
    percent: 100 × (new / old − 1); None where old is zero.
    """

    text: str
    tone: Tone
    percent: float | None


def metric_of(key: str) -> Metric:
    """The metric of ``key``; for one that the table lacks (an old result), one named by the key."""
    metric = METRICS.get(key)
    if metric is not None:
        return metric
    label = key.replace("_", " ").capitalize()
    return Metric(key, label, "", True, about="No longer in the metrics table.")


def number(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """``value`` with the digits that its interval [``low``, ``high``] supports.

    Two digits of the half width, at most 4 in all; without an interval three digits. Very small and
    very large numbers are written as 3.20×10⁻⁷, None and NaN as a dash.
    """
    if value is None or not math.isfinite(value):
        return _ABSENT
    if abs(value) < _SMALLEST:
        return "0"
    magnitude = _magnitude(value, 3 if low is None else 4)
    if magnitude not in _NEAR:
        return _as_power(value, 2)
    decimals = 2 - magnitude
    if low is not None and high is not None and high > low:
        decimals = min(decimals + 1, 1 - math.floor(math.log10((high - low) / 2)))
    return grouped(value, max(decimals, 0 if magnitude >= 1 else 1 - magnitude))


def grouped(value: float, decimals: int = 0) -> str:
    """A number with all its digits, in groups of three: 1234567 -> "1,234,567"."""
    return f"{value:,.{decimals}f}"


def plural(count: int, one: str, more: str = "") -> str:
    """A number of things: "1 job", "1,200 jobs". more: the plural, where it is not ``one`` + s."""
    noun = one if count == 1 else more or f"{one}s"
    return f"{grouped(count)} {noun}"


def _magnitude(value: float, digits: int) -> int:
    """The power of ten of its first digit, once it is rounded to so many: 9.996 becomes 10.0."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _as_power(value: float, decimals: int) -> str:
    mantissa, exponent = f"{value:.{decimals}e}".split("e")
    return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def whole(value: float) -> str:
    """A large number with two significant digits: 1,234 -> "1,200"."""
    if value >= 1:
        value = round(value, 1 - math.floor(math.log10(value)))
    return grouped(value)


def is_count(metric: Metric) -> bool:
    """True for counts (graph breaks): shown as whole numbers, compared by their difference."""
    return metric.aggregate == "sum"


def quantity(
    metric: Metric, value: float | None, low: float | None = None, high: float | None = None
) -> str:
    """``value`` of ``metric`` with its unit: "17.31 ms", "1.32×", "3 ", "–"."""
    if value is None or not math.isfinite(value):
        return _ABSENT
    if is_count(metric):
        return grouped(value)
    if metric.unit == "steps":
        return f"{whole(value)} steps"
    has_interval = low is not None and high is not None
    if metric.unit == "×" and not has_interval and value >= LEAST_SHORT:
        return f"{value:.2f}×"
    return with_unit(number(value, low, high), metric)


def with_unit(text: str, metric: Metric) -> str:
    """A number in words with its unit: "17.31 ms", "1.32×", "95%"."""
    separator = "" if metric.unit in _ATTACHED else " "
    return f"{text}{separator}{metric.unit}".rstrip()


def axis_title(metric: Metric) -> str:
    """Return the title of an axis of its values: "Latency, ms", "Graph breaks"."""
    return f"{metric.label}, {metric.unit}".rstrip(", ")


def column_decimals(values: Iterable[float], half_widths: Iterable[float] = ()) -> int | None:
    """The decimals that all numbers of a column have, so that they can be compared down it.

    Three digits of the smallest value, four where the usual interval supports them; None for values
    that are written as powers of ten.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return 0
    magnitude = _magnitude(min(sizes), 3)
    if magnitude not in _NEAR or _magnitude(max(sizes), 3) not in _NEAR:
        return None
    decimals = 2 - magnitude
    widths = [width for width in half_widths if width > 0]
    if widths:
        decimals = min(decimals + 1, 1 - math.floor(math.log10(median(widths))))
    return max(decimals, 0)


def fixed(metric: Metric, value: float | None, decimals: int | None) -> str:
    """``value`` with the decimals of its column; as `quantity` writes it where it has none."""
    if value is None or decimals is None or not math.isfinite(value) or is_count(metric):
        return quantity(metric, value)
    return with_unit(grouped(value, decimals), metric)


def fixed_interval(
    metric: Metric, low: float | None, high: float | None, decimals: int | None
) -> str:
    """`interval` with the decimals of its column."""
    if low is None or high is None or decimals is None or is_count(metric):
        return interval(metric, low, high)
    return f"{grouped(low, decimals)} to {fixed(metric, high, decimals)}"


def signed(percent: float) -> str:
    """A change with its sign: "+4.8", "−0.3"."""
    return f"{percent:+.1f}".replace("-", "−")


def interval(metric: Metric, low: float | None, high: float | None) -> str:
    """The ends of an interval with one unit: "17.2 to 17.5 ms"; empty where there is none."""
    if low is None or high is None or is_count(metric):
        return ""
    return f"{number(low, low, high)} to {quantity(metric, high, low, high)}"


def change(metric: Metric, old: float | None, new: float | None) -> ValueChange | None:
    """Word how ``new`` differs from ``old``; None where one of them is missing."""
    if old is None or new is None:
        return None
    tone = _tone(metric, new - old)
    if not old:
        return ValueChange(_difference(metric, new - old), tone, None)
    percent = 100 * (new / old - 1)
    if is_count(metric):
        return ValueChange(_difference(metric, new - old), tone, percent)
    if abs(percent) < _LEAST:
        return ValueChange("unchanged", "none", percent)
    direction = _direction(metric, larger=new > old)
    return ValueChange(f"{_percent(abs(percent))} {direction}", tone, percent)


def _tone(metric: Metric, difference: float) -> Tone:
    if difference == 0:
        return "none"
    return "good" if (difference < 0) == metric.lower_is_better else "bad"


def quiet(
    change: ValueChange | None, metric: Metric, *, is_shown: bool = False
) -> ValueChange | None:
    """The change without a tone below the metric's threshold, of unknown tone where not shown.

    is_shown: that more than the spread between processes is behind it. One value on either side
        shows that of a count or a status alone: times and sizes differ between any two processes.
    """
    if change is None or change.tone == "none":
        return change
    if change.percent is not None and abs(change.percent) < metric.threshold_percent:
        return replace(change, tone="none")
    if is_shown or metric.aggregate in ("sum", "share"):
        return change
    return replace(change, tone="unknown")


def effect(
    metric: Metric, amount: float | None, low: float | None, high: float | None, unit: str
) -> ValueChange | None:
    """A change of level with its interval: "6.2% slower (5.1 to 7.4%)", "2 more".

    amount, low, high: new minus old in ``unit``: "percent" of the old level, or the plain
        "difference". An interval that is not known, has no end, or whose ends read the same, is
        left out. None without an amount.
    """
    change = estimate(metric, amount, low, high, unit)
    if change is None or unit != "percent" or low is None or high is None:
        return change
    if not has_two_ends(low, high):
        return change
    return replace(change, text=f"{change.text} ({_ends(metric, low, high)[0]})")


def estimate(
    metric: Metric, amount: float | None, low: float | None, high: float | None, unit: str
) -> ValueChange | None:
    """`effect` without its interval, with as many decimals as next to it: "6.2% slower", "13%
    slower".
    """
    if amount is None:
        return None
    tone = _tone(metric, amount)
    if unit != "percent":
        return ValueChange(_difference(metric, amount), tone, None)
    if abs(amount) < _LEAST:
        return ValueChange("0.0%", tone, amount)
    decimals = 1
    if low is not None and high is not None and has_two_ends(low, high):
        decimals = _decimals(low, high)
    direction = _direction(metric, larger=amount > 0)
    return ValueChange(f"{_percent(abs(amount), decimals)} {direction}", tone, amount)


def has_two_ends(low: float, high: float) -> bool:
    """Test whether the ends of an interval of percent are known and do not read the same."""
    decimals = _decimals(low, high)
    return math.isfinite(high - low) and round(low, decimals) != round(high, decimals)


def named(metric: Metric, text: str) -> str:
    """A change in words after its metric's name: "peak memory 7.9% lower", "drift 145% higher"."""
    return f"{metric.label.lower()} {without_noun(text)}"


def without_noun(text: str) -> str:
    """A change in words where the metric's name stands before it: "7.9% lower" of "7.9% less
    memory".
    """
    for words in (_DIRECTIONS["GB"], _ACCURACY):
        for word, plain in zip(words, ("lower", "higher"), strict=True):
            text = text.replace(word, plain)
    return text


def span(metric: Metric, low: float, high: float) -> str:
    """An interval of percent in words: "1.2 to 3.4% slower", "3.5% faster to 5.3% slower"."""
    return " ".join(_ends(metric, low, high)).rstrip()


def _ends(metric: Metric, low: float, high: float) -> tuple[str, str]:
    """The ends of an interval of percent, and the direction that both share.

    Where they have different directions, each end has its own, and the second text is empty.
    """
    decimals = _decimals(low, high)
    low, high = round(low, decimals), round(high, decimals)
    lower, upper = f"{abs(low):,.{decimals}f}", f"{abs(high):,.{decimals}f}"
    if low < 0 < high:
        smaller, larger = _direction(metric, larger=False), _direction(metric, larger=True)
        return f"{lower}% {smaller} to {upper}% {larger}", ""
    nearer, farther = (lower, upper) if low >= 0 else (upper, lower)
    ends = nearer if low == high else f"{nearer} to {farther}"  # one where they read the same
    return f"{ends}%", _direction(metric, larger=high > 0)


def _decimals(low: float, high: float) -> int:
    """Choose the decimals of an interval of percent: none where it is wide or far from zero, unless
    an end would then read as zero.
    """
    is_vague = high - low >= _VAGUE and min(abs(low), abs(high)) >= 1
    return 0 if is_vague or max(-low, high) >= _WHOLE else 1


def _difference(metric: Metric, difference: float) -> str:
    if difference == 0:
        return "unchanged"
    comparison = "more" if difference > 0 else "fewer"
    return f"{quantity(metric, abs(difference))} {comparison}"


def _percent(percent: float, decimals: int = 1) -> str:
    is_whole = percent >= _WHOLE or (not decimals and percent >= 1)
    return f"{percent:,.0f}%" if is_whole else f"{percent:.1f}%"


def _direction(metric: Metric, *, larger: bool) -> str:
    if "drift" in metric.key:
        return _ACCURACY[larger]
    return _DIRECTIONS.get(metric.unit, ("lower", "higher"))[larger]


def levels(metric: Metric, before: float, after: float) -> str:
    """The two levels of a change, to complete a sentence: "from 17.31 to 18.38 ms"."""
    return with_unit(f"from {_level(metric, before)} to {_level(metric, after)}", metric)


def _level(metric: Metric, value: float) -> str:
    """``value`` without its unit, with four significant digits.

    So whoever divides two levels gets the stated percentage. Counts have one decimal where a level
    lies between two of them.
    """
    if is_count(metric):
        return f"{value:.1f}".removesuffix(".0")
    if abs(value) < _SMALLEST:
        return "0"
    magnitude = _magnitude(value, 4)
    return grouped(value, max(3 - magnitude, 0)) if magnitude in _NEAR else _as_power(value, 3)
