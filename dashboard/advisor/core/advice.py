"""Which config to use for how many steps: who is ahead from where on, and how sure that is. Pure.

1. What each config costs is drawn many times from what the measurements allow (running_costs.py);
   intervals and chances are shares of the draws.
2. The advice begins with the config that has done its first step soonest, and goes on with
   whichever overtakes it first, among those whose step is surely shorter.
3. What may be shorter but is not surely so is told as a doubt; what cannot be used, with the
   reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dashboard.comparisons.core.running_costs import (
    Candidate,
    Interval,
    Option,
    candidates,
    interval,
    steps_done,
)
from dashboard.language.metrics import EAGER, Start
from dashboard.ui.downsampling import Floats

Why = Literal["failed", "start", "step", "memory"]

# Of the draws, before a config's step counts as shorter: the upper end of a 95 % interval is finite
SURE = 0.975


@dataclass(frozen=True, slots=True)
class Stretch:
    """Use ``candidate`` from so many steps on."""

    candidate: Candidate
    from_steps: Interval


@dataclass(frozen=True, slots=True)
class ExcludedConfig:
    """A config that cannot be used. text: why, in words."""

    config: str
    why: Why
    text: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A config whose step may be shorter than that of the last advised one: by percent, which may
    be less than 0.
    """

    config: str
    than: str
    percent: Interval


@dataclass(frozen=True, slots=True)
class Advice:
    """stretches: from few steps to many; empty where nothing can be used."""

    start: Start
    stretches: list[Stretch] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    left_out: list[ExcludedConfig] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate for a given length. amount: seconds, or steps. chance: the share of draws in
    which it is the best.
    """

    candidate: Candidate
    amount: Interval
    chance: float


def advise(
    options: Sequence[Option],
    start: Start,
    rng: np.random.Generator,
    memory_limit_gb: float | None = None,
) -> Advice:
    """What to use after a ``start`` of that kind. memory_limit_gb: None: whatever ran on the
    machine fits.
    """
    known = candidates(options, start, rng)
    fitting = [one for one in known if _fits(one.memory_gb, memory_limit_gb)]
    left_out = _left_out(options, known, start, memory_limit_gb)
    if not fitting:
        return Advice(start, left_out=left_out)
    stretches = _stretches(fitting)
    doubts = _doubts(fitting, stretches[-1].candidate)
    return Advice(start, stretches, fitting, left_out, doubts)


def by_steps(advice: Advice, steps: float) -> list[Ranked]:
    """The candidates by how soon they have done so many steps, soonest first."""
    drawn = [one.drawn_seconds(steps) for one in advice.candidates]
    rows = [
        Ranked(one, one.seconds(steps), chance)
        for one, chance in zip(advice.candidates, _chances(drawn), strict=True)
    ]
    return sorted(rows, key=lambda row: row.amount.value)


def by_time(advice: Advice, seconds: float) -> list[Ranked]:
    """The candidates by how many steps they do in so many seconds, most first."""
    drawn = [-np.asarray(steps_done(seconds, one.starts, one.steps)) for one in advice.candidates]
    rows = [
        Ranked(one, one.steps_within(seconds), chance)
        for one, chance in zip(advice.candidates, _chances(drawn), strict=True)
    ]
    return sorted(rows, key=lambda row: -row.amount.value)


def _fits(memory_gb: float | None, limit_gb: float | None) -> bool:
    return limit_gb is None or (memory_gb is not None and memory_gb <= limit_gb)


def _left_out(
    options: Sequence[Option], known: Sequence[Candidate], start: Start, limit_gb: float | None
) -> list[ExcludedConfig]:
    usable = {one.config for one in known}
    missing = [_missing(one, start) for one in options if one.config not in usable]
    return missing + [
        ExcludedConfig(one.config, "memory", _too_much(one.memory_gb, limit_gb))
        for one in known
        if not _fits(one.memory_gb, limit_gb)
    ]


def _missing(option: Option, start: Start) -> ExcludedConfig:
    if option.failed:
        return ExcludedConfig(option.config, "failed", option.failed)
    if option.config == EAGER or not {"speedup", "latency_ms"} & option.levels.keys():
        return ExcludedConfig(option.config, "step", "the time of its steps was not measured")
    return ExcludedConfig(option.config, "start", f"its {start} start was not measured")


def _too_much(memory_gb: float | None, limit_gb: float | None) -> str:
    if memory_gb is None:
        return "its peak memory was not measured, so it is not known whether it fits"
    return f"it needs {memory_gb:.3g} GB, and {limit_gb:.3g} GB are allowed"


def _stretches(fitting: Sequence[Candidate]) -> list[Stretch]:
    """Who is ahead from how many steps on, as far as it is sure."""
    first = min(fitting, key=lambda one: one.start_s)
    found = [Stretch(first, Interval(1.0, 1.0, 1.0))]
    while rest := [one for one in fitting if _is_shorter(one, found[-1].candidate)]:
        now = found[-1].candidate
        following = min(
            rest,
            key=lambda one: float(_overtaken(now.start_s, now.step_s, one.start_s, one.step_s)),
        )
        found.append(Stretch(following, overtakes(now, following)))
    return found


def _is_shorter(one: Candidate, other: Candidate) -> bool:
    """Whether the step of ``one`` is surely shorter."""
    return one.step_s < other.step_s and float(np.mean(one.steps < other.steps)) >= SURE


def overtakes(early: Candidate, late: Candidate) -> Interval:
    """The number of steps from which on ``late`` is ahead of ``early``; infinite where it never
    is.
    """
    point = float(_overtaken(early.start_s, early.step_s, late.start_s, late.step_s))
    return interval(point, _overtaken(early.starts, early.steps, late.starts, late.steps))


def _overtaken(
    start: float | Floats,
    step: float | Floats,
    later_start: float | Floats,
    later_step: float | Floats,
) -> Floats:
    saved = np.asarray(step, dtype=float) - later_step
    behind = np.maximum(np.asarray(later_start, dtype=float) - start, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(saved > 0, 1 + behind / saved, np.inf)


def _doubts(fitting: Sequence[Candidate], last: Candidate) -> list[Doubt]:
    """Configs whose step is shorter by the best estimate, but not surely."""
    maybe = [one for one in fitting if one.step_s < last.step_s]
    return [
        Doubt(
            one.config,
            last.config,
            interval(100 * (1 - one.step_s / last.step_s), 100 * (1 - one.steps / last.steps)),
        )
        for one in maybe
    ]


def _chances(drawn: Sequence[Floats]) -> list[float]:
    """The share of draws in which each is the smallest."""
    if not drawn:
        return []
    return [
        float(share)
        for share in np.bincount(np.argmin(drawn, axis=0), minlength=len(drawn)) / len(drawn[0])
    ]
