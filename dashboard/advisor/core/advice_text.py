"""Advice in sentences that a person can act on. Pure."""

import math

from dashboard.advisor.core.advice import Advice, Doubt, Ranked, Stretch
from dashboard.comparisons.core.running_costs import (
    ASSUMED_START_ERROR,
    ASSUMED_STEP_ERROR,
    Candidate,
    Interval,
)
from dashboard.language.metrics import EAGER
from dashboard.language.wording import duration, whole

_NOTHING = "Nothing that was measured can be used: the reasons are below."


def sentence(advice: Advice) -> str:
    """ "Below 900 steps stay in eager; above, use regional." """
    if not advice.stretches:
        return _NOTHING
    first, *later = advice.stretches
    if not later:
        return _only(advice, first.candidate)
    ends = [steps(one.from_steps.value) for one in later]
    parts = [f"Below {ends[0]} steps {_use(first.candidate)}"]
    for start, end, one in zip(ends, ends[1:], later, strict=False):
        parts.append(f"from {start} to {end} use {one.candidate.config}")
    return f"{'; '.join(parts)}; above, use {later[-1].candidate.config}."


def _only(advice: Advice, candidate: Candidate) -> str:
    if candidate.config != EAGER:
        return f"Use {candidate.config} from the first step."
    if len(advice.candidates) > 1:
        return "Stay in eager: no other config is surely faster."
    if any(one.why == "start" for one in advice.left_out):
        return f"Not known: no config has a {advice.start} start that was measured."
    return "Stay in eager: nothing else that was measured can be used."


def _use(candidate: Candidate) -> str:
    return "stay in eager" if candidate.config == EAGER else f"use {candidate.config}"


def steps(count: float) -> str:
    """A number of steps with two digits that count."""
    return whole(count) if math.isfinite(count) else "∞"


def certainty(advice: Advice) -> list[str]:
    """How sure each break-even is, what may be better still, and what the intervals rest on; a
    sentence each.
    """
    said = [
        f"From {steps(one.from_steps.value)} steps on, after "
        f"{duration(one.candidate.seconds(one.from_steps.value).value)} of running, "
        f"{one.candidate.config} is ahead: "
        f"{_between(one.from_steps)}."
        for one in advice.stretches[1:]
    ]
    return [*said, *(_doubt(one) for one in advice.doubts), *_rests_on(advice)]


def _between(found: Interval) -> str:
    if math.isinf(found.high):
        return f"surely not before {steps(found.low)} steps, and it is not sure when"
    return f"95 % interval {steps(found.low)} to {steps(found.high)} steps"


def _doubt(doubt: Doubt) -> str:
    low, high = (f"{end:.1f}".replace("-", "−") for end in doubt.percent[1:])
    return (
        f"A step of {doubt.config} may be shorter than one of {doubt.than}, by "
        f"{doubt.percent.value:.1f} % at the best "
        f"estimate, but what was measured does not show it (95 % interval {low} to {high} %): "
        "measure it more often."
    )


def _rests_on(advice: Advice) -> list[str]:
    """What the intervals assume where nothing tells the spread between processes."""
    compiled = [one for one in advice.candidates if one.config != EAGER]
    said = []
    if any(one.bases[0] == "assumed" for one in compiled):
        said.append(
            "Starts that were measured once are taken to repeat within ± "
            f"{200 * ASSUMED_START_ERROR:.0f} %."
        )
    if any(one.bases[1] == "assumed" for one in compiled):
        said.append(
            "Steps without an interval are taken to repeat within ± "
            f"{200 * ASSUMED_STEP_ERROR:.0f} %."
        )
    if any(one.bases[1] == "within" for one in compiled):
        said.append(
            "Steps were measured in one process each: how much processes differ is not in the "
            "intervals."
        )
    return said


def verdict_by_steps(ranked: list[Ranked], count: float) -> str:
    """ "5 000 steps: regional, done in 8 min, 4 min 10 s sooner than eager." """
    best, eager = ranked[0], _eager(ranked)
    told = (
        f"{number_of(count)} steps: {best.candidate.config}, done in {duration(best.amount.value)}"
    )
    if eager and eager is not best:
        told += f", {duration(eager.amount.value - best.amount.value)} sooner than eager"
    return f"{told}{_beside(ranked)}."


def verdict_by_time(ranked: list[Ranked], seconds: float) -> str:
    """ "2 h: regional does 61 000 steps, 23 % more than eager." """
    best, eager = ranked[0], _eager(ranked)
    told = f"{duration(seconds)}: {best.candidate.config} does {number_of(best.amount.value)} steps"
    if eager and eager is not best and eager.amount.value:
        told += f", {100 * (best.amount.value / eager.amount.value - 1):.0f} % more than eager"
    return f"{told}{_beside(ranked)}."


def _eager(ranked: list[Ranked]) -> Ranked | None:
    return next((row for row in ranked if row.candidate.config == EAGER), None)


def _beside(ranked: list[Ranked]) -> str:
    """The chance that it is another one, where that counts."""
    second = max(ranked[1:], key=lambda row: row.chance, default=None)
    if second is None or second.chance < 0.025:
        return ""
    return f" ({100 * ranked[0].chance:.0f} % sure; else {second.candidate.config})"


def number_of(count: float) -> str:
    """A number of steps: whole up to 10 000, then three digits that count."""
    if not math.isfinite(count):
        return "∞"
    rounded = count if count < 10_000 else round(count, 2 - math.floor(math.log10(count)))
    return f"{rounded:,.0f}".replace(",", "\u2009")


def from_words(stretch: Stretch) -> str:
    """From where on a config is ahead, with its interval: "310 steps (240 to 410)"."""
    value, low, high = stretch.from_steps
    if value <= 1:
        return "the first step"
    return f"{steps(value)} steps ({steps(low)} to {steps(high)})"
