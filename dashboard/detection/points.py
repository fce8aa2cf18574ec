"""Inputs and outputs of detection: plain values, no clock, no database."""

from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import Literal

SeriesKind = Literal["continuous", "constant", "count", "status"]
VerdictState = Literal["changed", "noisier"]
ChangeCause = Literal["step", "drift", "noise"]
Unit = Literal["percent", "difference"]

KINDS: tuple[SeriesKind, ...] = ("continuous", "constant", "count", "status")

STATUS_WORDS = (
    "pass",
    "fail_accuracy",
    "eager_two_runs_differ",
    "fail_to_compile",
    "fail_to_run",
    "oom",
    "timeout",
    "crashed",
    "unsupported",
)


def status_value(word: str) -> float:
    """The number that stands for a status word in a `Point` of a "status" series.

    Raises ValueError for a word that is not one of STATUS_WORDS.
    """
    if word not in STATUS_WORDS:
        raise ValueError(
            f"status word {word!r} is unknown to detection; use one of {', '.join(STATUS_WORDS)}"
        )
    return float(STATUS_WORDS.index(word))


TWO_SIDED_95 = 1.959964
"""Standard errors on either side of the mean in a 95% interval."""


@dataclass(frozen=True, slots=True)
class Point:
    """One datum of a series.

    value: in the metric's own unit.
    ci_low, ci_high: its 95% interval from the samples within its job, or None.
    position: where it stands among the builds; carried through, never calculated with.
    device: that measured it, or empty where that is not known.
    """

    value: float
    ci_low: float | None
    ci_high: float | None
    position: int
    device: str = ""

    def __post_init__(self) -> None:
        if not isfinite(self.value):
            raise ValueError(
                f"the point at position {self.position} has the value {self.value}; "
                "a case that failed has no datum: leave its point out"
            )

    @property
    def standard_error(self) -> float:
        """Standard error of the value, in its own unit; 0 where no interval is known."""
        if self.ci_low is None or self.ci_high is None or isnan(self.ci_high - self.ci_low):
            return 0.0
        return max(0.0, self.ci_high - self.ci_low) / (2 * TWO_SIDED_95)

    def times(self, factor: float) -> "Point":
        """The point with its value and interval multiplied."""
        return replace(
            self,
            value=self.value * factor,
            ci_low=None if self.ci_low is None else self.ci_low * factor,
            ci_high=None if self.ci_high is None else self.ci_high * factor,
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings by which one series is judged.

    threshold_percent: the smallest change worth reporting, in percent of the level
        (`Metric.threshold_percent`). A step that is estimated at less than three quarters of it is
        not reported; one of the threshold itself is, as fast as noise allows. Noise may make a
        smaller one look larger (docs/detection.md says how often).
    kind: "continuous" (latency, compile time, drift), "constant" (memory: mostly one value, small
        jitter), "count" (graph breaks, recompiles: every change counts, the threshold is not used)
        or "status" (words). A continuous series whose values are exactly equal is treated as
        constant by itself.
    least: the smallest change worth reporting in the metric's own unit, where that is more than the
        threshold.
    """

    threshold_percent: float = 2.0
    kind: SeriesKind = "continuous"
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Settings.kind is {self.kind!r}; use one of {', '.join(KINDS)}")
        if not (isfinite(self.threshold_percent) and self.threshold_percent >= 0):
            raise ValueError(
                f"Settings.threshold_percent is {self.threshold_percent}; it must be 0 or more"
            )
        if not (isfinite(self.least) and self.least >= 0):
            raise ValueError(f"Settings.least is {self.least}; it must be 0 or more")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of the detector on a series in which it sees a change.

    state: "changed" once for each change, then it watches the new level; "noisier" once where the
        spread has grown and the level stayed, which is not an alert.
    index: of the first point of the new level, counted from 0 in the series.
    effect, effect_low, effect_high: new level minus old one with its 95% interval, in `unit`:
        "percent" of the old level, or the plain "difference" (counts, status words, an old level
        of 0). Where it is noisier, the growth of the spread, in percent.
    sure: 1 minus the probability that one point of pure noise shows so much evidence.
    level_before, level_after: the levels that `effect` lies between, in the metric's own unit.
    is_return: the series is back at the level before its last change, within a few points of it.
    """

    state: VerdictState
    index: int
    cause: ChangeCause
    effect: float
    effect_low: float
    effect_high: float
    unit: Unit
    sure: float
    level_before: float
    level_after: float
    is_return: bool = False
