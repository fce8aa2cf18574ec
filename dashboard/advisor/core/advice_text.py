"""Advice in sentences that a person can act on. Pure."""

import math
from collections.abc import Iterator, Sequence
from itertools import takewhile

from dashboard.advisor.core.advice import (
    Advice,
    Doubt,
    ExclusionReason,
    RankedCandidate,
    StepRange,
    UnrankedConfig,
)
from dashboard.comparisons.core.running_costs import (
    ASSUMED_START_ERROR,
    ASSUMED_STEP_ERROR,
    Candidate,
)
from dashboard.language.durations import duration
from dashboard.language.metrics import EAGER, Start
from dashboard.language.wording import grouped, number, whole

_NOTHING = "Nothing that was measured can be used: the reasons are below."
_LEAST_CHANCE = 0.025  # of being the best, before the runner-up is named


def sentence(advice: Advice) -> str:
    """ "Below 900 steps stay in eager; above, use regional." """
    if not advice.ranges:
        return _NOTHING
    first, *later = advice.ranges
    if not later:
        return _only(advice, first.candidate)
    known_ranges = list(takewhile(lambda step_range: step_range.is_known, later))
    sentences = [_by_steps(first, known_ranges)] if known_ranges else []
    if len(known_ranges) < len(later):
        sentences.append(
            f"In the long run {later[-1].config} pays off; after how many steps is not known: "
            "measure more often."
        )
    return " ".join(sentences)


def _by_steps(first: StepRange, later: Sequence[StepRange]) -> str:
    ends = [rough_steps(step_range.from_steps.value) for step_range in later]
    use = "stay in eager" if first.config == EAGER else f"use {first.config}"
    parts = [f"Below {ends[0]} steps {use}"]
    for start, end, step_range in zip(ends, ends[1:], later, strict=False):
        parts.append(f"from {start} to {end} use {step_range.config}")
    return f"{'; '.join(parts)}; above, use {later[-1].config}."


def _only(advice: Advice, candidate: Candidate) -> str:
    if candidate.config != EAGER:
        return f"Use {candidate.config} from the first step."
    if doubt := advice.undecided:
        percent = f"{doubt.percent.value:.1f}% at the best estimate"
        return f"Not decided: {doubt.config} may be faster ({percent})."
    if len(advice.candidates) > 1:
        return f"Stay in eager: {none_is(advice, 'surely faster')}."
    if lacks_starts(advice):
        return f"Not known: no config has a {advice.start} start that was measured."
    reasons = {excluded.reason for excluded in advice.left_out}
    if reasons <= {"check"}:
        what = "besides eager only checks were" if reasons else "only eager was"
        return f"Not known: {what} measured."
    return "Stay in eager: nothing else that was measured can be used."


def lacks_starts(advice: Advice) -> bool:
    """Test whether a config is left out only because its start was not measured."""
    return _leaves_out(advice, "start")


def _leaves_out(advice: Advice, reason: ExclusionReason) -> bool:
    return any(excluded.reason == reason for excluded in advice.left_out)


def none_is(advice: Advice, faster: str) -> str:
    """State that none of the configs next to eager is "faster", as a clause that claims nothing of
    those that were not measured.
    """
    if lacks_starts(advice):
        return f"no config with a measured start is {faster}"
    if _leaves_out(advice, "memory"):
        return f"no other measured config that fits is {faster}"
    others = [each.config for each in advice.candidates if each.config != EAGER]
    if len(others) == 1:
        return f"no {faster} config among those measured ({others[0]})"
    return f"no other measured config is {faster}"


def rough_steps(count: float) -> str:
    """A number of steps with two digits that count."""
    return whole(count) if math.isfinite(count) else "∞"


def certainty(advice: Advice) -> list[str]:
    """State how sure each break-even is, what may be better, and what the intervals assume."""
    break_evens = map(_break_even, advice.ranges[1:])
    doubts = map(_doubt, advice.doubts)
    unranked = _unranked(advice.unranked, advice.start)
    return [*break_evens, *doubts, *unranked, *_assumptions(advice)]


def _break_even(step_range: StepRange) -> str:
    steps = step_range.from_steps
    running = duration(step_range.candidate.seconds(steps.value).value)
    ends = f"95% interval {rough_steps(steps.low)} to {rough_steps(steps.high)} steps"
    if not step_range.is_known:
        return (
            f"{step_range.config} is ahead from {rough_steps(steps.value)} steps on at the best "
            f"estimate, but what was measured does not show when ({ends}): measure it more often."
        )
    return (
        f"From {rough_steps(steps.value)} steps on, after {running} of running, "
        f"{step_range.config} is ahead: {ends}."
    )


def _doubt(doubt: Doubt) -> str:
    ends = f"{doubt.percent.low:.1f} to {doubt.percent.high:.1f}".replace("-", "−")
    return (
        f"A step of {doubt.config} may be shorter than one of {doubt.than}, "
        f"by {doubt.percent.value:.1f}% at the best estimate, "
        f"but what was measured does not show it (95% interval {ends}%): "
        "measure it more often."
    )


def _unranked(unranked: Sequence[UnrankedConfig], start: Start) -> Iterator[str]:
    """State how much shorter the shortest one is, and name the rest.

    start: the kind that was not measured.
    """
    if not unranked:
        return
    shortest, *others = unranked
    yield (
        f"A step of {shortest.config} takes {number(shortest.step_ms)} ms, "
        f"{shortest.percent:.0f}% less than one of {shortest.than} at the best estimate; "
        f"its {start} start was not measured, so it is not ranked."
    )
    if others:
        names = ", ".join(each.config for each in others)
        text = "Steps of these may be shorter, too, and are not ranked for the same reason"
        yield f"{text}: {names}."


def _assumptions(advice: Advice) -> list[str]:
    """List what the intervals assume where no measurement shows the spread between processes."""
    start_bases, step_bases = set(), set()
    for candidate in advice.candidates:
        if candidate.config != EAGER:
            start_bases.add(candidate.bases[0])
            step_bases.add(candidate.bases[1])

    sentences = []
    if "assumed" in start_bases:
        sentences.append(
            "Starts that were measured once are taken to repeat within ± "
            f"{200 * ASSUMED_START_ERROR:.0f}%, as recorded ones did."
        )
    if "assumed" in step_bases:
        sentences.append(
            "Steps without an interval are taken to repeat within ± "
            f"{200 * ASSUMED_STEP_ERROR:.0f}%, as recorded ones did."
        )
    if "within" in step_bases:
        sentences.append(
            "Where steps were measured in one process only, how much processes differ is not in "
            "the intervals."
        )
    return sentences


def verdict_by_steps(ranked: list[RankedCandidate], count: float) -> str:
    """ "5,000 steps: regional, done in 8 min, 4 min 10 s sooner than eager." """
    best, eager = ranked[0], _eager(ranked)
    seconds = best.amount.value
    verdict = f"{precise_steps(count)} steps: {best.config}, done in {duration(seconds)}"
    if eager and eager is not best:
        verdict += f", {duration(eager.amount.value - seconds)} sooner than eager"
    return f"{verdict}{_runner_up(ranked)}."


def verdict_by_time(ranked: list[RankedCandidate], seconds: float) -> str:
    """ "2 h: regional does 61,000 steps, 23% more than eager." """
    best, eager = ranked[0], _eager(ranked)
    steps = best.amount.value
    verdict = f"{duration(seconds)}: {best.config} does {precise_steps(steps)} steps"
    if eager and eager is not best and eager.amount.value:
        verdict += f", {100 * (steps / eager.amount.value - 1):.0f}% more than eager"
    return f"{verdict}{_runner_up(ranked)}."


def _eager(ranked: list[RankedCandidate]) -> RankedCandidate | None:
    return next((row for row in ranked if row.config == EAGER), None)


def _runner_up(ranked: list[RankedCandidate]) -> str:
    """The chance that another one is best, where that counts."""
    second = max(ranked[1:], key=lambda row: row.chance, default=None)
    if second is None or second.chance < _LEAST_CHANCE:
        return ""
    return f" ({100 * ranked[0].chance:.0f}% sure; else {second.config})"


def precise_steps(count: float) -> str:
    """A number of steps: whole up to 10,000, then three digits that count."""
    if not math.isfinite(count):
        return "∞"
    if count >= 10_000:
        count = round(count, 2 - math.floor(math.log10(count)))
    return grouped(count)


def range_start(step_range: StepRange) -> str:
    """From where on a config is ahead, with its interval: "310 steps (240 to 410)"."""
    value, low, high = step_range.from_steps
    if value <= 1:
        return "the first step"
    if not step_range.is_known:
        return "not known"
    return f"{rough_steps(value)} steps ({rough_steps(low)} to {rough_steps(high)})"
