"""Costs of each config on one machine and build: its start, its step, its memory, each with its
spread. Pure.

A step of a config takes eager's step divided by the config's speedup. Both arms of a speedup were
measured in turn in one process, so what made one process slow as a whole favours no config. n steps
take start + (n - 1) × step: a start ends with the first step, and eager's start is one step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dashboard.comparisons.core.levels import (
    Level,
    level_of,
    merge_levels,
    standard_errors,
    wider,
)
from dashboard.language.metrics import CHECK_CONFIGS, EAGER, STARTS, Start
from dashboard.ui.downsampling import Floats

# Repeats; one process, with an interval of its own; one process, without
CostBasis = Literal["repeats", "within", "assumed"]

_MEMORY = ("peak_memory_gb", "compile_peak_memory_gb")
COST_METRICS = (
    "speedup",
    "latency_ms",
    "eager_latency_ms",
    *STARTS.values(),
    *_MEMORY,
    "eager_peak_memory_gb",
)
# Relative standard errors where one process was measured, without an interval of its own: as far as
# recorded processes of one build on GPUs of one kind are apart (docs/advisor.md)
ASSUMED_START_ERROR = 0.14
ASSUMED_STEP_ERROR = 0.057
# Two starts may agree by chance, or not at all: with repeats, that error counts as much as these
# degrees of freedom
_START_PRIOR = ASSUMED_START_ERROR**2, 2.0
_NO_PRIOR = 0.0, 0.0
_DRAWS = 4000
_ROUNDING = 1e-9  # a step that ends on the second is done
_MAX_LOG = 20.0  # two processes leave one degree of freedom, whose tails would overflow


@dataclass(frozen=True, slots=True)
class Option:
    """One config as it was measured on one machine and build.

    position: its place in the registry. levels: by metric. failed: why it has none, in words.
    """

    config: str
    position: int
    levels: Mapping[str, Level]
    failed: str = ""


class Interval(NamedTuple):
    """A value with the ends of its 95% interval; an end may be infinite."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config that can be used.

    start_s: until its first step is done. step_s: each further one.
    memory_gb: the highest peak of compiling and running; None where it was not measured.
    starts, steps: (draws,) in seconds, what start_s and step_s may be.
    bases: where the spread of each comes from.
    """

    config: str
    position: int
    start_s: float
    step_s: float
    memory_gb: float | None
    starts: Floats
    steps: Floats
    bases: tuple[CostBasis, CostBasis]

    @property
    def start(self) -> Interval:
        return interval(self.start_s, self.starts)

    @property
    def step_ms(self) -> Interval:
        return interval(1000 * self.step_s, 1000 * self.steps)

    def seconds(self, steps: float) -> Interval:
        """Estimate how many seconds so many steps take."""
        return interval(self.start_s + (steps - 1) * self.step_s, self.drawn_seconds(steps))

    def drawn_seconds(self, steps: float) -> Floats:
        return self.starts + (steps - 1) * self.steps


class Estimate(NamedTuple):
    """A value, (draws,) of what it may be, and where their spread comes from."""

    value: float
    draws: Floats
    basis: CostBasis


def step_estimates(options: Sequence[Option], rng: np.random.Generator) -> dict[str, Estimate]:
    """Each config's step in ms, where it is known. Eager's own is known from its control, too."""
    speedups = _estimates(options, "speedup", ASSUMED_STEP_ERROR, rng)
    steps = _estimates(options, "latency_ms", ASSUMED_STEP_ERROR, rng)
    eager = _eager_step(options, rng)
    if eager is None:
        return steps
    for config, speedup in speedups.items():
        value, draws = eager.value / speedup.value, eager.draws / speedup.draws
        steps[config] = Estimate(value, draws, speedup.basis)
    return {**steps, EAGER: eager}


def candidates(
    options: Sequence[Option],
    start: Start,
    steps: Mapping[str, Estimate],
    rng: np.random.Generator,
) -> list[Candidate]:
    """Every option whose start of that kind and whose step are known, eager first; no checks, of
    which only the spread and eager's control count.

    steps: `step_estimates`.
    """
    starts = _estimates(options, STARTS[start], ASSUMED_START_ERROR, rng, _START_PRIOR)
    usable = _eager_candidate(options, steps.get(EAGER))
    for option in options:
        config = option.config
        if config in starts and config in steps and config not in {EAGER, *CHECK_CONFIGS}:
            usable.append(_candidate(option, starts[config], steps[config], peak_gb(option)))
    return usable


def _estimates(
    options: Sequence[Option],
    metric: str,
    assumed: float,
    rng: np.random.Generator,
    prior: tuple[float, float] = _NO_PRIOR,
) -> dict[str, Estimate]:
    """Values of one metric by config; the configs share one spread between processes. With a prior
    what was measured in one session counts as one, where that makes the wider interval: a host and
    a day are the same for all of it.
    """
    levels = {option.config: option.levels[metric] for option in options if metric in option.levels}
    if not levels:
        return {}
    errors, freedom = standard_errors([*levels.values()], prior)
    if prior != _NO_PRIOR:
        errors, freedom = wider(
            (errors, freedom), standard_errors(list(map(_of_sessions, levels.values())), prior)
        )
    estimates = {}
    for (config, level), error, df in zip(levels.items(), errors, freedom, strict=True):
        if math.isnan(error):
            basis: CostBasis = "assumed"
            scores = assumed * rng.standard_normal(_DRAWS)
        elif math.isinf(df):  # the error within a process is the larger, or the only one
            basis = "within" if level.n == 1 else "repeats"
            scores = error * rng.standard_normal(_DRAWS)
        else:
            basis, scores = "repeats", error * rng.standard_t(df, _DRAWS)
        draws = level.value * np.exp(scores.clip(-_MAX_LOG, _MAX_LOG))
        estimates[config] = Estimate(level.value, draws, basis)
    return estimates


def _of_sessions(level: Level) -> Level:
    """With one value for each session, and device: the mean of its processes."""
    sessions = level_of([math.exp(group.mean) for group in level.groups])
    return sessions._replace(within=level.within)


def _eager_step(options: Sequence[Option], rng: np.random.Generator) -> Estimate | None:
    """Eager's step in ms, from its own jobs and from the controls of all others; None where neither
    was measured.
    """
    levels = []
    for option in options:
        metric = "latency_ms" if option.config == EAGER else "eager_latency_ms"
        if metric in option.levels:
            levels.append(option.levels[metric])
    if not levels:
        return None
    together = Option(EAGER, 0, {"latency_ms": merge_levels(levels)})
    return _estimates([together], "latency_ms", ASSUMED_STEP_ERROR, rng)[EAGER]


def peak_gb(option: Option) -> float | None:
    """The highest peak of compiling and running; None where it was not measured."""
    return max(_peaks(option, _MEMORY), default=None)


def _peaks(option: Option, metrics: Sequence[str]) -> list[float]:
    return [option.levels[metric].value for metric in metrics if metric in option.levels]


def _candidate(
    option: Option, start: Estimate, step: Estimate, memory_gb: float | None
) -> Candidate:
    """start: in seconds. step: in ms."""
    return Candidate(
        option.config,
        option.position,
        start.value,
        step.value / 1000,
        memory_gb,
        start.draws,
        step.draws / 1000,
        (start.basis, step.basis),
    )


def _eager_candidate(options: Sequence[Option], step: Estimate | None) -> list[Candidate]:
    """Eager, whose start is one step; empty where it failed or its step is not known."""
    own = next((option for option in options if option.config == EAGER), Option(EAGER, 0, {}))
    if step is None or own.failed:
        return []
    peaks = _peaks(own, ["peak_memory_gb"])
    for option in options:
        peaks += _peaks(option, ["eager_peak_memory_gb"])
    start = Estimate(step.value / 1000, step.draws / 1000, step.basis)
    return [_candidate(own, start, step, max(peaks, default=None))]


def steps_done(seconds: float, start: float | Floats, step: float | Floats) -> Floats:
    """Steps that are done after so many seconds."""
    left = seconds - np.asarray(start, dtype=float)
    return np.where(left < 0, 0, 1 + np.floor(left / step + _ROUNDING))


def interval(value: float, draws: Floats) -> Interval:
    """Quantiles of the draws themselves: between a number and infinity nothing is interpolated."""
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest")
    return Interval(value, float(low), float(high))
