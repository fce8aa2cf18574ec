"""Advice on which config to use for how many steps: who is ahead from where on, how surely. Pure.

1. What each config costs is drawn many times from what the measurements allow (running_costs.py);
   intervals and chances are shares of the draws.
2. The advice begins with the config that has done its first step soonest, and goes on with
   whichever overtakes it first, among those whose step is surely shorter.
3. What may be shorter but is not surely so is reported as a doubt; what cannot be used, with the
   reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dashboard.comparisons.core.running_costs import (
    Candidate,
    Estimate,
    Interval,
    Option,
    candidates,
    interval,
    peak_gb,
    step_estimates,
    steps_done,
)
from dashboard.language.metrics import CHECK_CONFIGS, EAGER, METRICS, Start
from dashboard.ui.downsampling import Floats

ExclusionReason = Literal["check", "failed", "start", "step", "memory"]

# Of the draws, before a config's step counts as shorter: the upper end of a 95% interval is finite
SURE = 0.975
# A step that is shorter by less is not worth a word
_LEAST_PERCENT = METRICS["latency_ms"].threshold_percent
# A break-even whose interval's ends are so many times apart says nothing
_MOST_APART = 100
_FEW_STEPS = 10  # a lower end below it counts as so many: who runs fewer?


@dataclass(frozen=True, slots=True)
class StepRange:
    """Use ``candidate`` from so many steps on."""

    candidate: Candidate
    from_steps: Interval

    @property
    def config(self) -> str:
        return self.candidate.config

    @property
    def is_known(self) -> bool:
        """True if the interval of ``from_steps`` says anything."""
        return self.from_steps.high <= _MOST_APART * max(self.from_steps.low, _FEW_STEPS)


@dataclass(frozen=True, slots=True)
class ExcludedConfig:
    """A config that cannot be used. text: why, in words."""

    config: str
    reason: ExclusionReason
    text: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A config whose step may be shorter than that of the last advised one.

    percent: by how much; it may be less than 0.
    """

    config: str
    than: str
    percent: Interval


@dataclass(frozen=True, slots=True)
class UnrankedConfig:
    """A config whose step is shorter than that of the last advised one, but whose start was not
    measured. percent: by how much, at the best estimate.
    """

    config: str
    than: str
    step_ms: float
    percent: float


@dataclass(frozen=True, slots=True)
class Advice:
    """ranges: from few steps to many; empty where nothing can be used."""

    start: Start
    ranges: list[StepRange] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    left_out: list[ExcludedConfig] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    unranked: list[UnrankedConfig] = field(default_factory=list)

    @property
    def undecided(self) -> Doubt | None:
        """Largest doubt that something may be faster than eager, and not by little, where nothing
        surely is; None where there is none.
        """
        if not self.ranges or self.ranges[-1].config != EAGER:
            return None
        doubts = [doubt for doubt in self.doubts if doubt.percent.value > _LEAST_PERCENT]
        return max(doubts, key=lambda doubt: doubt.percent.value, default=None)


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate for a given length.

    amount: seconds, or steps. chance: the share of draws in which it is the best.
    """

    candidate: Candidate
    amount: Interval
    chance: float

    @property
    def config(self) -> str:
        return self.candidate.config


def advise(
    options: Sequence[Option],
    start: Start,
    rng: np.random.Generator,
    memory_limit_gb: float | None = None,
) -> Advice:
    """Recommend what to use after a ``start`` of that kind.

    memory_limit_gb: None where whatever ran on the machine fits.
    """
    steps = step_estimates(options, rng)
    measured = candidates(options, start, steps, rng)
    fitting = []
    too_large = []
    for candidate in measured:
        if text := _too_large(candidate.memory_gb, memory_limit_gb):
            too_large.append(ExcludedConfig(candidate.config, "memory", text))
        else:
            fitting.append(candidate)

    usable = {candidate.config for candidate in measured}
    rest = [option for option in options if option.config not in usable]
    left_out = [_incomplete(option, start, steps) for option in rest] + too_large
    if not fitting:
        return Advice(start, left_out=left_out)
    ranges = _ranges(fitting)
    last = ranges[-1].candidate
    without_start = {each.config for each in left_out if each.reason == "start"}
    startless = [
        option
        for option in options
        if option.config in without_start and not _too_large(peak_gb(option), memory_limit_gb)
    ]
    unranked = _unranked(startless, steps, last)
    return Advice(start, ranges, fitting, left_out, _doubts(fitting, last), unranked)


def _too_large(memory_gb: float | None, limit_gb: float | None) -> str:
    """Explain why a config does not fit; empty where it does."""
    if limit_gb is None:
        return ""
    if memory_gb is None:
        return "its peak memory was not measured, so it is not known whether it fits"
    if memory_gb > limit_gb:
        return f"it needs {memory_gb:.3g} GB, and {limit_gb:.3g} GB are allowed"
    return ""


def _incomplete(option: Option, start: Start, steps: Mapping[str, Estimate]) -> ExcludedConfig:
    """Explain why what was measured of an option does not make it a candidate."""
    if option.config in CHECK_CONFIGS:
        return ExcludedConfig(option.config, "check", "a check, not a way to run")
    if option.failed:
        return ExcludedConfig(option.config, "failed", option.failed)
    if option.config not in steps:
        return ExcludedConfig(option.config, "step", "the time of its steps was not measured")
    return ExcludedConfig(option.config, "start", f"its {start} start was not measured")


def _ranges(fitting: Sequence[Candidate]) -> list[StepRange]:
    """Find who is ahead from how many steps on, as far as it is sure."""
    leader = min(fitting, key=lambda candidate: candidate.start_s)
    ranges = [StepRange(leader, Interval(1.0, 1.0, 1.0))]
    while faster := [candidate for candidate in fitting if _is_faster(candidate, leader)]:
        now = leader
        leader = min(faster, key=lambda candidate: _break_even_steps(now, candidate))
        ranges.append(StepRange(leader, break_even(now, leader)))
    return ranges


def _is_faster(candidate: Candidate, leader: Candidate) -> bool:
    """Test whether the candidate's step is surely shorter."""
    chance = float(np.mean(candidate.steps < leader.steps))
    return candidate.step_s < leader.step_s and chance >= SURE


def break_even(early: Candidate, late: Candidate) -> Interval:
    """The number of steps from which on ``late`` is ahead of ``early``; infinite where never."""
    drawn = _overtaken(early.starts, early.steps, late.starts, late.steps)
    return interval(_break_even_steps(early, late), drawn)


def _break_even_steps(early: Candidate, late: Candidate) -> float:
    return float(_overtaken(early.start_s, early.step_s, late.start_s, late.step_s))


def _overtaken(
    start: float | Floats,
    step: float | Floats,
    later_start: float | Floats,
    later_step: float | Floats,
) -> Floats:
    """start + (n - 1) step = later_start + (n - 1) later_step, solved for n."""
    saved = np.asarray(step, dtype=float) - later_step
    behind = np.maximum(np.asarray(later_start, dtype=float) - start, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(saved > 0, 1 + behind / saved, np.inf)


def _doubts(fitting: Sequence[Candidate], last: Candidate) -> list[Doubt]:
    """Configs whose step is shorter by the best estimate, but not surely."""
    doubts = []
    for candidate in fitting:
        if candidate.step_s < last.step_s:
            percent = 100 * (1 - candidate.step_s / last.step_s)
            drawn = 100 * (1 - candidate.steps / last.steps)
            doubts.append(Doubt(candidate.config, last.config, interval(percent, drawn)))
    return doubts


def _unranked(
    startless: Sequence[Option], steps: Mapping[str, Estimate], last: Candidate
) -> list[UnrankedConfig]:
    """List the configs without a start whose step is shorter, the shortest first."""
    unranked = []
    for option in startless:
        step_ms = steps[option.config].value
        percent = 100 * (1 - step_ms / (1000 * last.step_s))
        if percent > _LEAST_PERCENT:
            unranked.append(UnrankedConfig(option.config, last.config, step_ms, percent))
    return sorted(unranked, key=lambda each: each.step_ms)


def by_steps(advice: Advice, steps: float) -> list[RankedCandidate]:
    """The candidates by how soon they have done so many steps, soonest first."""
    amounts, drawn = [], []
    for candidate in advice.candidates:
        amounts.append(candidate.seconds(steps))
        drawn.append(candidate.drawn_seconds(steps))
    return sorted(_ranked(advice, amounts, drawn), key=lambda row: row.amount.value)


def by_time(advice: Advice, seconds: float) -> list[RankedCandidate]:
    """The candidates by how many steps they do in so many seconds, most first."""
    amounts, drawn = [], []
    for candidate in advice.candidates:
        count = float(steps_done(seconds, candidate.start_s, candidate.step_s))
        draws = steps_done(seconds, candidate.starts, candidate.steps)
        amounts.append(interval(count, draws))
        drawn.append(-draws)
    return sorted(_ranked(advice, amounts, drawn), key=lambda row: -row.amount.value)


def _ranked(
    advice: Advice, amounts: Sequence[Interval], drawn: Sequence[Floats]
) -> list[RankedCandidate]:
    """drawn: of each candidate, smaller is better. Chances: in how many draws each is the best."""
    if not advice.candidates:
        return []
    best = np.argmin(drawn, axis=0)  # (draws,)
    wins = np.bincount(best, minlength=len(drawn))  # (candidates,)
    chances = (wins / len(best)).tolist()
    return [
        RankedCandidate(candidate, amount, chance)
        for candidate, amount, chance in zip(advice.candidates, amounts, chances, strict=True)
    ]
