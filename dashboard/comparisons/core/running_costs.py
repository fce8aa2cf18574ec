"""What each config costs on one machine and build: its start, its step, its memory, each with its
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

from dashboard.comparisons.core.ratios import Level, errors, merged
from dashboard.language.metrics import EAGER, STARTS, Start
from dashboard.ui.downsampling import Floats

Basis = Literal["repeats", "within", "assumed"]

_MEMORY = ("peak_memory_gb", "compile_peak_memory_gb")
METRICS = (
    "speedup",
    "latency_ms",
    "eager_latency_ms",
    *STARTS.values(),
    *_MEMORY,
    "eager_peak_memory_gb",
)
# Relative standard errors where one process was measured and tells no interval. Compile times of
# one case differed by
# 3 to 10 % from process to process, speedups by 0.5 to 3 %: the upper ends are taken.
ASSUMED_START_ERROR = 0.10
ASSUMED_STEP_ERROR = 0.03
_DRAWS = 4000
_ROUNDING = 1e-9  # a step that ends on the second is done
_MOST_LOG = 20.0  # two processes leave one degree of freedom, whose tails would overflow


@dataclass(frozen=True, slots=True)
class Option:
    """One config as it was measured on one machine and build.

    position: its place in the registry. levels: metric key -> level. failed: why it has none, in
        words.
    """

    config: str
    position: int
    levels: Mapping[str, Level]
    failed: str = ""


class Interval(NamedTuple):
    """A value with the ends of its 95 % interval; an end may be infinite."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A config that can be used. start_s: until its first step is done; step_s: each further one.

    memory_gb: the highest peak of compiling and running; None where it was not measured. starts,
        steps: the draws of
    both. bases: where the spread of each comes from.
    """

    config: str
    position: int
    start_s: float
    step_s: float
    memory_gb: float | None
    starts: Floats
    steps: Floats
    bases: tuple[Basis, Basis]

    @property
    def start(self) -> Interval:
        return interval(self.start_s, self.starts)

    @property
    def step_ms(self) -> Interval:
        return interval(1000 * self.step_s, 1000 * self.steps)

    def seconds(self, steps: float) -> Interval:
        """How long so many steps take."""
        return interval(self.start_s + (steps - 1) * self.step_s, self.drawn_seconds(steps))

    def drawn_seconds(self, steps: float) -> Floats:
        return self.starts + (steps - 1) * self.steps

    def steps_within(self, seconds: float) -> Interval:
        """How many steps it has done after so many seconds; none before its start is over."""
        return interval(
            float(done(seconds, self.start_s, self.step_s)),
            np.asarray(done(seconds, self.starts, self.steps)),
        )


class _Drawn(NamedTuple):
    value: float
    draws: Floats
    basis: Basis


def candidates(
    options: Sequence[Option], start: Start, rng: np.random.Generator
) -> list[Candidate]:
    """Every option whose start of that kind and whose step are known, eager first."""
    speedups = _drawn(options, "speedup", ASSUMED_STEP_ERROR, rng)
    own = _drawn(options, "latency_ms", ASSUMED_STEP_ERROR, rng)
    starts = _drawn(options, STARTS[start], ASSUMED_START_ERROR, rng)
    eager = _eager(options, rng)
    found = []
    for option in options:
        if option.config == EAGER:
            continue
        step = own.get(option.config)
        if eager and option.config in speedups:
            step = _quotient(eager, speedups[option.config])
        if step and option.config in starts:
            memory = max(
                (option.levels[key].value for key in _MEMORY if key in option.levels), default=None
            )
            found.append(_candidate(option, starts[option.config], step, memory))
    return [*_eager_candidate(options, eager), *found]


def _drawn(
    options: Sequence[Option], metric: str, assumed: float, rng: np.random.Generator
) -> dict[str, _Drawn]:
    """Values of one metric by config; the configs share one spread between processes."""
    known = {option.config: option.levels[metric] for option in options if metric in option.levels}
    if not known:
        return {}
    found, freedom = errors([*known.values()])
    return {
        config: _draw(level, float(error), float(df), assumed, rng)
        for (config, level), error, df in zip(known.items(), found, freedom, strict=True)
    }


def _draw(
    level: Level, error: float, freedom: float, assumed: float, rng: np.random.Generator
) -> _Drawn:
    """freedom: of the error; infinite where it comes from within a process."""
    basis: Basis = (
        "assumed" if math.isnan(error) else "within" if math.isinf(freedom) else "repeats"
    )
    scores = rng.standard_t(freedom, _DRAWS) if basis == "repeats" else rng.standard_normal(_DRAWS)
    logs = scores * (assumed if basis == "assumed" else error)
    return _Drawn(level.value, level.value * np.exp(logs.clip(-_MOST_LOG, _MOST_LOG)), basis)


def _eager(options: Sequence[Option], rng: np.random.Generator) -> _Drawn | None:
    """Eager's step in ms, from its own jobs and from the controls of all others; None where neither
    was measured.
    """
    metric = {
        option.config: "latency_ms" if option.config == EAGER else "eager_latency_ms"
        for option in options
    }
    levels = [one.levels[metric[one.config]] for one in options if metric[one.config] in one.levels]
    if not levels:
        return None
    together = Option(EAGER, 0, {"latency_ms": merged(levels)})
    return _drawn([together], "latency_ms", ASSUMED_STEP_ERROR, rng)[EAGER]


def _quotient(eager: _Drawn, speedup: _Drawn) -> _Drawn:
    return _Drawn(eager.value / speedup.value, eager.draws / speedup.draws, speedup.basis)


def _candidate(option: Option, start: _Drawn, step: _Drawn, memory_gb: float | None) -> Candidate:
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


def _eager_candidate(options: Sequence[Option], eager: _Drawn | None) -> list[Candidate]:
    own = next((option for option in options if option.config == EAGER), Option(EAGER, 0, {}))
    if eager is None or own.failed:
        return []
    peaks = [
        one.levels["eager_peak_memory_gb"].value
        for one in options
        if "eager_peak_memory_gb" in one.levels
    ]
    peaks += [own.levels["peak_memory_gb"].value] if "peak_memory_gb" in own.levels else []
    first = _Drawn(eager.value / 1000, eager.draws / 1000, eager.basis)
    return [_candidate(own, first, eager, max(peaks, default=None))]


def done(seconds: float, start: float | Floats, step: float | Floats) -> Floats:
    """Steps that are done after so many seconds."""
    left = seconds - np.asarray(start, dtype=float)
    return np.where(left < 0, 0, 1 + np.floor(left / step + _ROUNDING))


def interval(value: float, draws: Floats) -> Interval:
    """Quantiles of the draws themselves: between a number and infinity nothing is interpolated."""
    low, high = np.quantile(draws, [0.025, 0.975], method="nearest")
    return Interval(value, float(low), float(high))
