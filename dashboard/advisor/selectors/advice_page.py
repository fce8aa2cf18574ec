"""Advice on one benchmark: the table of its configs on its page, and the ranking of the API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dashboard.advisor.core import advice_text
from dashboard.advisor.core.advice import Advice, RankedCandidate, advise, by_steps, by_time
from dashboard.advisor.selectors.advice import (
    NO_CHOICE,
    AdvisedBuild,
    advised_builds,
    read_options,
)
from dashboard.comparisons.core.running_costs import Candidate, Interval, Option
from dashboard.language.metrics import Start
from dashboard.models import Benchmark

_SEED = 20261121  # one for all: page and API show the same intervals
_SECONDS_PER_HOUR = 3600
_MOST_BUILDS = 8
LENGTHS = (100, 10_000, 1_000_000)
"""Numbers of steps that the table has a column for."""


@dataclass(frozen=True, slots=True)
class AdviceSelection:
    """Selection that one benchmark's advice is for.

    steps, hours, memory_gb: None where none is asked for.
    """

    benchmark: Benchmark
    build: AdvisedBuild
    start: Start
    options: Sequence[Option]
    steps: float | None = None
    hours: float | None = None
    memory_gb: float | None = None

    def advice(self) -> Advice:
        return advise(self.options, self.start, np.random.default_rng(_SEED), self.memory_gb)


@dataclass(frozen=True, slots=True)
class ConfigLine:
    """A config in the table. totals: of LENGTHS the steps, the seconds, whether none is shorter.

    ahead: from how many steps on it is the best, in words; empty where it never is.
    """

    candidate: Candidate
    totals: list[tuple[int, Interval, bool]]
    ahead: str


class FasterElsewhere(NamedTuple):
    """A config that was not measured on the build of the table. speedup: over eager, on its own
    build; best: the largest on that of the table.
    """

    config: str
    build: str
    speedup: float
    best: float


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """The configs of a benchmark on one build. faster: those that another build alone measured."""

    build: AdvisedBuild
    start: Start
    sentence: str
    lines: list[ConfigLine]
    certainty: list[str]
    faster: list[FasterElsewhere]


def config_table(
    benchmark: Benchmark, machine: str, build_label: str, start: Start
) -> ConfigTable | None:
    """The table of that build, else of the newest that leaves a choice; None where none does. Six
    queries.
    """
    builds = [each for each in advised_builds(benchmark) if each.machine_key == machine]
    builds = builds[:_MOST_BUILDS]
    if not builds:
        return None
    ids = [each.build for each in builds]
    options = read_options(builds[0].machine, ids, benchmark)
    for build in [each for each in builds if each.label == build_label] or builds:
        advice = AdviceSelection(benchmark, build, start, options[build.build]).advice()
        if len(advice.candidates) > 1:
            return ConfigTable(
                build,
                start,
                advice_text.sentence(advice),
                _lines(advice),
                advice_text.certainty(advice),
                _faster_elsewhere(build, builds, options),
            )
    return None


def _lines(advice: Advice) -> list[ConfigLine]:
    every = [[each.seconds(steps) for each in advice.candidates] for steps in LENGTHS]
    ahead = {row.config: advice_text.range_start(row) for row in advice.ranges}
    lines = []
    for number, candidate in enumerate(advice.candidates):
        totals = []
        for steps, column in zip(LENGTHS, every, strict=True):
            is_best = column[number].value == min(total.value for total in column)
            totals.append((steps, column[number], is_best))
        lines.append(ConfigLine(candidate, totals, ahead.get(candidate.config, "")))
    return lines


def _faster_elsewhere(
    build: AdvisedBuild, builds: Sequence[AdvisedBuild], options: Mapping[int, Sequence[Option]]
) -> list[FasterElsewhere]:
    """The configs with a larger speedup than any of `build`, each on its newest build."""
    here = {each.config for each in options[build.build] if each.levels}
    speedups = _speedups(options[build.build])
    best = max(speedups.values(), default=1.0)
    faster: dict[str, FasterElsewhere] = {}
    for other in builds:
        for config, speedup in _speedups(options[other.build]).items():
            if config not in here and speedup > best:
                faster.setdefault(config, FasterElsewhere(config, other.label, speedup, best))
    return sorted(faster.values(), key=lambda each: -each.speedup)


def _speedups(options: Sequence[Option]) -> dict[str, float]:
    """Of the configs that are a way to run, over eager."""
    return {
        each.config: each.levels["speedup"].value
        for each in options
        if "speedup" in each.levels and each.config not in NO_CHOICE
    }


def ranking(selection: AdviceSelection, advice: Advice) -> tuple[str, list[RankedCandidate]]:
    """For the steps that were requested, else for the hours: the verdict, and the configs.

    Nothing of either where none was requested, or no config can be used.
    """
    if not advice.candidates:
        return "", []
    if steps := selection.steps:
        ranked = by_steps(advice, steps)
        return advice_text.verdict_by_steps(ranked, steps), ranked
    if selection.hours:
        seconds = _SECONDS_PER_HOUR * selection.hours
        ranked = by_time(advice, seconds)
        return advice_text.verdict_by_time(ranked, seconds), ranked
    return "", []
