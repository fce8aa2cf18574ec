"""The advice for each benchmark as a row of the advisor's list. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.advisor.core.advice import Advice, Doubt, StepRange
from dashboard.advisor.core.advice_text import lacks_starts, none_is, rough_steps
from dashboard.comparisons.core.running_costs import Candidate, CostBasis, Interval, interval
from dashboard.language.metrics import EAGER

_USUAL_SIZE = "standard"
_MEASURED: dict[CostBasis, str] = {
    "repeats": "repeated",
    "within": "in one process",
    "assumed": "once",
}


@dataclass(frozen=True, slots=True)
class AdviceRow:
    """Advice on one benchmark.

    config: for a long run; empty where nothing is known. earlier: what to use before it, but for
        eager. break_even: steps from which on it is ahead of what comes before; None for eager,
        and where its interval says nothing.
    gain_percent: how much shorter its step is than eager's; None where eager was not measured.
    evidence: how often its start and its step were measured.
    reason: why there is no other config than eager, or none at all.
    unranked: which config has a shorter step, but no start that was measured; or empty.
    is_decided: whether nothing else may well be faster.
    """

    benchmark: str
    config: str
    earlier: list[str]
    break_even: Interval | None = None
    gain_percent: Interval | None = None
    evidence: str = ""
    reason: str = ""
    unranked: str = ""
    is_decided: bool = True

    @property
    def model(self) -> str:
        return self.benchmark.partition(".")[0]

    @property
    def variant(self) -> str:
        """The rest of the name, without the usual size."""
        parts = self.benchmark.split(".")[1:]
        return " ".join(part for part in parts if part != _USUAL_SIZE)

    @property
    def steps(self) -> str:
        if self.break_even:
            return rough_steps(self.break_even.value)
        return "" if self.config == EAGER else "not known"

    @property
    def steps_interval(self) -> str:
        """The ends of the break-even's interval."""
        if self.break_even is None:
            return ""
        return f"{rough_steps(self.break_even.low)} to {rough_steps(self.break_even.high)}"


def advice_row(benchmark: str, advice: Advice) -> AdviceRow:
    """The row of one benchmark."""
    if not advice.ranges:
        return AdviceRow(benchmark, "", [], reason="nothing that was measured can be used")
    *before, last = advice.ranges
    if last.config == EAGER:
        return _eager_row(benchmark, advice)
    eager = next((each for each in advice.candidates if each.config == EAGER), None)
    gain = _gain(eager, last.candidate) if eager else None
    return AdviceRow(
        benchmark,
        last.config,
        earlier=[_earlier(step_range) for step_range in before if step_range.config != EAGER],
        break_even=last.from_steps if all(each.is_known for each in advice.ranges) else None,
        gain_percent=gain,
        evidence=_evidence(last.candidate),
        unranked=_unranked(advice),
    )


def _eager_row(benchmark: str, advice: Advice) -> AdviceRow:
    config = EAGER
    if advice.doubts:
        reason = _doubted(max(advice.doubts, key=lambda doubt: doubt.percent.value))
    elif len(advice.candidates) > 1:
        reason = none_is(advice, "faster")
    elif lacks_starts(advice):
        config, reason = "", f"no {advice.start} start was measured"
    else:
        reason = "no other config can be used"
    return AdviceRow(
        benchmark,
        config,
        [],
        reason=reason,
        unranked=_unranked(advice),
        is_decided=advice.undecided is None,
    )


def _unranked(advice: Advice) -> str:
    if not advice.unranked:
        return ""
    shortest = advice.unranked[0]
    return (
        f"{shortest.config}: {shortest.percent:.0f}% shorter at the best estimate, "
        f"its {advice.start} start was not measured"
    )


def _doubted(doubt: Doubt) -> str:
    ends = f"{doubt.percent.low:.1f} to {doubt.percent.high:.1f}".replace("-", "−")
    return f"{doubt.config}: {doubt.percent.value:.1f}% shorter, not sure ({ends}%)"


def _earlier(step_range: StepRange) -> str:
    if not step_range.is_known:
        return step_range.config
    return f"{step_range.config} from {rough_steps(step_range.from_steps.value)}"


def _evidence(candidate: Candidate) -> str:
    start, step = (_MEASURED[basis] for basis in candidate.bases)
    if start == step:
        return f"start and step {step}"
    return f"start {start}, step {step}"


def _gain(eager: Candidate, config: Candidate) -> Interval:
    """100 × (1 − step / eager's step)."""
    percent = 100 * (1 - config.step_s / eager.step_s)
    draws = 100 * (1 - np.asarray(config.steps) / eager.steps)
    return interval(percent, draws)


def _by_break_even(row: AdviceRow) -> float:
    return row.break_even.value if row.break_even else math.inf


def _by_gain(row: AdviceRow) -> float:
    return -row.gain_percent.value if row.gain_percent else math.inf


# order -> what rows are sorted by; any other order is the registry's
ORDERS: dict[str, Callable[[AdviceRow], float | tuple[bool, str]]] = {
    "config": lambda row: (not row.config, row.config),
    "break_even": _by_break_even,
    "gain": _by_gain,
}


def ordered(rows: Sequence[AdviceRow], order: str) -> list[AdviceRow]:
    """The rows, those without what they are sorted by last."""
    key = ORDERS.get(order)
    return sorted(rows, key=key) if key else list(rows)
