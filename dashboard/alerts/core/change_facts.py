"""Facts known around a change, before anybody is blamed for it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.language.wording import metric_of, signed
from dashboard.results.core.environments import Difference

AS_MUCH = 0.5
"""A control that moved by this share of the change, or more, moved as much."""
TIMED = ("ms", "s")  # units of metrics that a slower machine changes
REPRODUCED = 2
"""Jobs on each side that must agree before the code is said to differ."""
EXACT_PERCENT = 0.005
"""What moved by less than this either way is called the same: no metric is read to more digits."""


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """Change of something at the same moment: its effect with the interval, in percent."""

    name: str  # as people call it
    effect: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """The whole interval lies on one side of no change."""
        return self.low > 0 or self.high < 0

    def as_much_as(self, other: "ObservedChange") -> bool:
        """It moved in the same direction, for certain, by at least half as much."""
        same_direction = self.effect * other.effect > 0
        large = abs(self.effect) >= AS_MUCH * abs(other.effect)
        return same_direction and self.is_certain and large

    def stayed_while(self, other: "ObservedChange") -> bool:
        """It did not move in the same direction by half as much, for certain."""
        limit = AS_MUCH * abs(other.effect)
        if other.effect > 0:
            return self.high < limit
        return self.low > -limit

    def stayed_both_ways(self, other: "ObservedChange") -> bool:
        """It did not move by half as much in either direction, for certain."""
        return max(abs(self.low), abs(self.high)) < AS_MUCH * abs(other.effect)

    @property
    def text(self) -> str:
        verb = "rose" if self.effect > 0 else "fell"
        return f"{self.name} {verb} by {abs(self.effect):.1f}%{self._interval}"

    def shows_no_change(self, threshold_percent: float) -> bool:
        """Test whether it can only have moved by too little to matter, and did not for certain."""
        limit = max(threshold_percent, EXACT_PERCENT)
        is_small = max(abs(self.low), abs(self.high)) <= limit
        return is_small and not self.is_certain

    def steady_text(self, other: "ObservedChange", threshold_percent: float) -> str:
        """Describe how it stayed while another moved: "The eager control shows no change (−0.8 to
        +1.2%)". threshold_percent: the smallest change that matters.
        """
        if abs(self.low) < EXACT_PERCENT and abs(self.high) < EXACT_PERCENT:
            return f"{self.name} stayed exactly as it was"
        if self.stayed_both_ways(other):
            is_same = self.shows_no_change(threshold_percent)
            says = "shows no change" if is_same else "did not move as much"
        elif self.is_certain:
            says = "moved the other way"
        elif other.effect > 0:
            says = "did not rise as much, and may have fallen"
        else:
            says = "did not fall as much, and may have risen"
        return f"{self.name} {says}{self._interval}"

    @property
    def _interval(self) -> str:
        """Empty where its ends read the same."""
        low, high = signed(self.low), signed(self.high)
        return f" ({low} to {high}%)" if low != high else ""


@dataclass(frozen=True, slots=True)
class CodeFingerprints:
    """Fingerprints of the generated code by kind (wrapper, kernels, ptx, cubin) on both sides."""

    before: Mapping[str, frozenset[str]]  # every value seen, of several jobs
    after: Mapping[str, frozenset[str]]
    jobs: int  # the fewest on a side
    stable: bool = True  # no job found two cold compiles of one build to differ

    def changed(self) -> list[str]:
        """The kinds that differ reproducibly: one value in several jobs a side, not the same."""
        if not self.stable or self.jobs < REPRODUCED:
            return []
        kinds = []
        for kind, before in self.before.items():
            after = self.after.get(kind, frozenset())
            if len(before) == len(after) == 1 and before != after:
                kinds.append(kind)
        return kinds

    def same(self) -> bool:
        common = {kind: self.after.get(kind) for kind in self.before}
        return bool(self.before) and self.before == common


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """Facts known around one change. None and empty: not known, which is evidence of nothing.

    change: of the series itself.
    same_build: the build did not change there.
    confirmed: base and new build were re-measured in turn, and it is there.
    control: the eager control of the same jobs.
    pinned: the same case on pinned tracks of the machine.
    canary: what the machine itself can do, on a build that stayed.
    alike: how many of how many other benchmarks' eager steps moved alike.
    pressure: share of jobs disturbed by others, before and after.
    eager_passes: of a status change in a compiled config.
    stage: of the compiler, which the ablation blames.
    variant: what the new build sets and the base does not.
    inductor_alone: both are one torch in one environment, and differ in settings of Inductor.
    """

    metric: str
    unit: str
    change: ObservedChange | None
    eager: bool
    same_build: bool
    confirmed: bool = False
    control: ObservedChange | None = None
    pinned: Sequence[ObservedChange] = ()
    canary: Sequence[ObservedChange] = ()
    alike: tuple[int, int] = (0, 0)
    pressure: tuple[float, float] = (0.0, 0.0)
    code: CodeFingerprints | None = None
    differences: Sequence[Difference] = ()
    suite: tuple[str, str] | None = None
    phases: Sequence[ObservedChange] = ()
    eager_passes: bool | None = None
    stage: str = ""
    variant: str = ""
    inductor_alone: bool = False

    @property
    def is_start(self) -> bool:
        return self.metric.endswith("_start_s")

    @property
    def timed(self) -> bool:
        return self.unit in TIMED

    @property
    def threshold_percent(self) -> float:
        """The smallest change of its metric that matters."""
        return metric_of(self.metric).threshold_percent
