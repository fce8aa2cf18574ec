"""Grouping of suspicions: which belong together, which are significant, and what a group is called.
Pure: no ORM, no clock.

docs/detection.md says why: one cause is one group, the false discovery rate is held across all
series that can alert, a case that got better in one metric and worse in another is a trade-off,
and improvements are groups of their own.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.alerts.core.change_size import estimate
from dashboard.language import states
from dashboard.language.metrics import EAGER
from dashboard.language.wording import levels, metric_of, named, plural

Direction = Literal["regression", "improvement", "trade_off", "neutral"]
Severity = Literal["low", "medium", "high"]

FALSE_DISCOVERIES = 0.1
"""Share of false ones among the significant suspicions of a group, at most, on average."""
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")
GREAT = 5.0
"""An effect of so many `Metric.severity_percent` is of high severity; half of it of medium."""
MANY_CASES = 5
_NAMED = {  # metrics whose words alone do not say what changed
    "cold_start_s": "cold start",
    "warm_start_s": "warm start",
    "restored_start_s": "restored start",
    "startup_cold_s": "cold startup",
    "startup_warm_s": "warm startup",
    "device_ms": "device time",
    "compile_calls": "compile calls",
}
# What 145% more of is next to nothing near a rounding error, and ruinous elsewhere
_BY_LEVELS = {"drift", "drift_gradients"}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One alert as grouping sees it.

    key: of the alert.
    effect, low, high: in `unit`, as on the alert.
    words: (before, after) of a status. levels: the same of a value, in the metric's unit; None
        where they are not known.
    false_alarm_share: of points on pure noise, how many look like this; None: certain (a status).
    """

    key: int
    model: str
    mode: str
    benchmark: str
    config: str
    metric: str
    direction: Direction
    effect: float | None
    low: float | None
    high: float | None
    unit: str
    false_alarm_share: float | None = None
    words: tuple[str, str] | None = None
    cause: str = "unknown"
    levels: tuple[float, float] | None = None

    @property
    def case(self) -> tuple[str, str]:
        return self.benchmark, self.config

    @property
    def harm(self) -> float:
        """The effect in multiples of what severity is measured in; of a status word and a count, a
        fixed size.
        """
        if self.words is not None:
            return GREAT
        measured_in = metric_of(self.metric).severity_percent
        if self.unit != "percent" or not measured_in:
            return GREAT / 2
        return abs(self.effect or 0.0) / measured_in


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """An open group of the same build. cases: of its alerts."""

    key: int
    cause: str
    direction: Direction
    cases: frozenset[tuple[str, str]]


def significant(suspicions: Sequence[Suspicion], tests: int) -> set[int]:
    """Keys of the suspicions that count when `tests` series could alert.

    The k surest ones, k the largest of which the k-th share is at most k / tests ×
    FALSE_DISCOVERIES (Benjamini and Hochberg 1995).
    """
    if not suspicions:
        return set()
    shares = [suspicion.false_alarm_share or 0.0 for suspicion in suspicions]
    silent = [1.0] * (tests - len(shares))  # series that raised no suspicion
    adjusted = scipy.stats.false_discovery_control([*shares, *silent])
    keys = set()
    for suspicion, share in zip(suspicions, adjusted, strict=False):
        if share <= FALSE_DISCOVERIES:
            keys.add(suspicion.key)
    return keys


def choose_group(suspicion: Suspicion, groups: Sequence[OpenGroup]) -> int | None:
    """Key of the open group of the same build that the suspicion joins; None: it needs a new one.

    The same case first: what changed at once in one case is one alert. Then eager itself and the
    compiled cases of the same benchmark whose eager control moved as much: that is one change. Then
    the same cause and direction.
    """
    for group in groups:
        if suspicion.case in group.cases:
            return group.key
    for group in groups:
        if group.direction == suspicion.direction and _is_its_eager(suspicion, group):
            return group.key
    for group in groups:
        if (group.cause, group.direction) == (suspicion.cause, suspicion.direction):
            return group.key
    return None


def _is_its_eager(suspicion: Suspicion, group: OpenGroup) -> bool:
    """Test whether one side is eager of a benchmark, and the other a compiled case of it that eager
    is to blame for.
    """
    if suspicion.config != EAGER:
        return suspicion.cause == "eager" and (suspicion.benchmark, EAGER) in group.cases
    benchmarks = {benchmark for benchmark, _ in group.cases}
    return group.cause == "eager" and suspicion.benchmark in benchmarks


def cause_of(suspicions: Sequence[Suspicion]) -> str:
    """The cause that most alerts have evidence for; unknown where none has any."""
    causes = Counter(suspicion.cause for suspicion in suspicions)
    del causes["unknown"]
    if not causes:
        return "unknown"
    return causes.most_common(1)[0][0]


def direction_of(suspicions: Sequence[Suspicion]) -> Direction:
    """A trade-off where better and worse came together; neutral where neither is known."""
    directions = {suspicion.direction for suspicion in suspicions} - {"neutral"}
    if len(directions) > 1 or "trade_off" in directions:
        return "trade_off"
    if not directions:
        return "neutral"
    return directions.pop()


def severity_of(suspicions: Sequence[Suspicion], passing: bool = True) -> Severity:
    """By the regression that does the most harm, one step more where many cases got worse.

    Low for what only got better, and where nothing is significant (`passing` is false).
    """
    worse = [suspicion for suspicion in suspicions if suspicion.direction != "improvement"]
    if not worse or not passing:
        return "low"
    worst = max(suspicion.harm for suspicion in worse)
    rank = (worst >= GREAT / 2) + (worst >= GREAT)
    cases = {suspicion.case for suspicion in worse}
    rank += len(cases) >= MANY_CASES
    return SEVERITIES[min(rank, 2)]


def representatives(suspicions: Sequence[Suspicion], most: int = 3) -> list[int]:
    """Keys of at most `most` suspicions of different cases to measure again: the surest, the
    greatest first.

    Of a case with several alerts one stands for all: its confirmation runs bring all metrics at
    once.
    """
    ranked = sorted(
        suspicions,
        key=lambda suspicion: (
            suspicion.direction == "improvement",
            suspicion.false_alarm_share or 0.0,
            -suspicion.harm,
        ),
    )
    chosen: dict[tuple[str, str], int] = {}
    for suspicion in ranked:
        chosen.setdefault(suspicion.case, suspicion.key)
    return list(chosen.values())[:most]


def title(suspicions: Sequence[Suspicion], since: str) -> str:
    """ "sd_unet inference: 6.2% slower in inductor since 2.13.0": the worst case first, and how
    many more there are.

    since: "since 2.13.0", or another end of the sentence.
    """
    ranked = sorted(suspicions, key=_worst_first)
    first = ranked[0]
    of_case = [suspicion for suspicion in ranked if suspicion.case == first.case]
    configs, others = set(), set()
    for suspicion in ranked:
        if (suspicion.model, suspicion.mode) == (first.model, first.mode):
            configs.add(suspicion.config)
        else:
            others.add((suspicion.model, suspicion.mode))
    subject = f"{first.model} {first.mode}"
    if others:
        subject += f" and {len(others)} more"
    where = f"{_listed(sorted(configs))} {since}"
    return f"{subject}: {_changes(of_case)} in {where}".strip()[:300]


def _worst_first(suspicion: Suspicion) -> tuple[bool, float]:
    return suspicion.direction == "improvement", -suspicion.harm


def sentence(suspicion: Suspicion) -> str:
    """Describe what changed: "6.2% slower", "at least 79.3% slower", "accuracy failed (was
    passed)", "2 more graph breaks", "drift from 5.064×10⁻⁸ to 1.240×10⁻⁷".
    """
    if suspicion.words is not None:
        before, after = map(states.label, suspicion.words)
        return f"{after} (was {before})" if before else after
    metric = metric_of(suspicion.metric)
    if suspicion.metric in _BY_LEVELS and suspicion.levels:
        return f"{metric.label.lower()} {levels(metric, *suspicion.levels)}"
    change = estimate(metric, suspicion.effect, suspicion.low, suspicion.high, suspicion.unit)
    text = change.text if change else "changed"
    if suspicion.unit != "percent":
        return f"{text} {metric.label.lower()}"
    if suspicion.metric in _BY_LEVELS:
        return named(metric, text)
    if suspicion.metric in _NAMED:
        return f"{_NAMED[suspicion.metric]} {text}"
    return text


def _changes(of_case: Sequence[Suspicion]) -> str:
    """The changes of one case, statuses first; a trade-off begins with what was lost."""
    if direction_of(of_case) == "trade_off":
        gained: list[str] = []
        lost: list[str] = []
        for suspicion in of_case:
            side = gained if suspicion.direction == "improvement" else lost
            side.append(sentence(suspicion))
        return f"{', '.join(lost[:2])}, but {', '.join(gained[:2])}"
    ranked = sorted(
        of_case, key=lambda suspicion: (suspicion.words is None, *_worst_first(suspicion))
    )
    return ", ".join(sentence(suspicion) for suspicion in ranked[:3])


def _listed(names: Sequence[str]) -> str:
    text = ", ".join(names[:2])
    if len(names) > 2:
        text += f" and {plural(len(names) - 2, 'more config')}"
    return text
