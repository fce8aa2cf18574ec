"""The sentence that heads the page of a change, and its verdict. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.judgement.changes import Grade, SetVerdict
from dashboard.language.metrics import Metric
from dashboard.language.wording import ValueChange, grouped, named, quantity, with_unit

_NOUNS = {  # metric -> what there is more of, or less
    "device_ms": "GPU time",
    "eager_device_ms": "GPU time in eager",
    "peak_memory_gb": "peak memory",
    "host_memory_gb": "host memory",
}
_TAKES = {  # metric -> what takes longer, or less long
    "latency_ms": "a step takes",
    "eager_latency_ms": "an eager step takes",
    "cold_start_s": "a cold start takes",
    "warm_start_s": "a warm start takes",
}
_SMALLER_UNITS = (("GB", 0.1, "MB"), ("ms", 0.1, "µs"), ("s", 0.1, "ms"))
_PROPER_NAMES = ("Dynamo", "AOTAutograd", "Inductor", "Triton")
_MOST_WORDS = 12
_MOST_OF_IT = 0.6
_FEWEST_STEPS = 5  # of the last decimal


@dataclass(frozen=True, slots=True)
class Headline:
    """sentence: with names and a difference. size, details: the number, and what it rests on."""

    sentence: str
    verdict: SetVerdict
    grade: Grade | None
    size: ValueChange | None
    details: str


def case_title(model: str, mode: str) -> str:
    """ "gpt2 training"; of inference, which most of them are, the model alone."""
    return model if mode == "inference" else f"{model} {mode}"


def sentence(
    title: str, metric: Metric, levels: tuple[float, float] | None, size: str, cause: str
) -> str:
    """ "gpt2 training: 22.5 ms more GPU time; attention left cuDNN".

    levels: before and after, where they are known. size: in words. cause: the end of the sentence,
    left out where that would be too long.
    """
    said = named(metric, size)
    if levels and levels[0] != levels[1]:
        difference = levels[1] - levels[0]
        amount = amount_text(metric, abs(difference))
        if metric.key in _NOUNS:
            said = f"{amount} {'more' if difference > 0 else 'less'} {_NOUNS[metric.key]}"
        elif metric.key in _TAKES:
            said = f"{_TAKES[metric.key]} {amount} {'longer' if difference > 0 else 'less'}"
    text = f"{title}: {said}"
    with_cause = f"{text}{cause}"
    return with_cause if len(with_cause.split()) <= _MOST_WORDS else text


def undecided(title: str, metric: Metric, verdict: SetVerdict) -> str:
    """ "llama decode: latency unclear": no difference is named that may be none."""
    return f"{title}: {named(metric, 'the same' if verdict == 'same' else verdict)}"


def amount_text(metric: Metric, amount: float, like: float | None = None) -> str:
    """An amount in the unit that people say it in: "34 MB" of 0.034 GB, "47.3 µs" of 0.0473 ms.

    like: a larger amount, whose unit and decimals it shares.
    """
    largest = abs(like or amount)
    for unit, least, smaller in _SMALLER_UNITS:
        if metric.unit == unit and 0 < largest < least:
            return f"{_as_precise(1000 * amount, 1000 * largest)} {smaller}"
    return (
        quantity(metric, amount)
        if like is None
        else with_unit(_as_precise(amount, largest), metric)
    )


def _as_precise(amount: float, like: float) -> str:
    """Write it with the decimals of `like` at three digits, one more where that says too little."""
    magnitude = math.floor(math.log10(like)) if like else 0
    decimals = max(0, 2 - magnitude)
    is_coarse = 0 < abs(amount) * 10**decimals < _FEWEST_STEPS
    return grouped(amount, decimals + is_coarse)


def cause_of(clauses: Sequence[str], share: float, largest: str) -> str:
    """The end of the sentence: a known change, else the part that makes most of the difference.

    share: of the difference that `largest` makes.
    """
    if clauses:
        return f"; {clauses[0].partition(';')[0]}"
    is_most = _MOST_OF_IT <= share <= 1 / _MOST_OF_IT
    name = largest if largest in _PROPER_NAMES else f"{largest[:1].lower()}{largest[1:]}"
    return f", mostly {name}" if largest and is_most else ""
