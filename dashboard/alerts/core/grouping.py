"""Which suspicions belong together, which of them count, and how a group is called. Pure: no ORM,
no clock.

docs/detection.md says why: one cause is one group, the false discovery rate is held across all
series that were judged, a case that got better in one metric and worse in another is a trade-off,
and improvements are groups of their own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.stats import false_discovery_control

from dashboard.language.metrics import EAGER
from dashboard.language.wording import effect, metric_of, plural

Direction = Literal["regression", "improvement", "trade_off", "neutral"]
Severity = Literal["low", "medium", "high"]

FALSE_DISCOVERIES = 0.1
"""Share of false ones among the suspicions of a group that count, at most, on average."""
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high")
GREAT = 5.0
"""An effect of so many thresholds is of high severity; half of it of medium."""
MANY_CASES = 5
_NAMED = {  # metrics whose words alone do not say what changed
    "cold_start_s": "cold start",
    "drift": "output",
    "drift_gradients": "gradients",
}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One alert as grouping sees it.

    key: of the alert. effect, low, high in `unit`, as on the alert; words: (before, after) of a
        status.
    false_alarm_share: of points on pure noise, how many look like this. None: not noise at all (a
        status word).
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

    @property
    def case(self) -> tuple[str, str]:
        return self.benchmark, self.config

    @property
    def thresholds(self) -> float:
        """The effect in thresholds of its metric; a status word and a count are great as they
        are.
        """
        threshold = metric_of(self.metric).threshold_percent
        if self.words is not None or self.unit != "percent" or not threshold:
            return GREAT if self.words is not None else GREAT / 2
        return abs(self.effect or 0.0) / threshold


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """An open group of the same build as placing sees it. cases: of its alerts."""

    key: int
    cause: str
    direction: Direction
    cases: frozenset[tuple[str, str]]


def counted(
    suspicions: Sequence[Suspicion], tests: int, rate: float = FALSE_DISCOVERIES
) -> set[int]:
    """Keys of the suspicions that count when `tests` series were judged (Benjamini and Hochberg
    1995).

    The k surest ones, k the largest of which the k-th share is at most k / tests × rate.
    """
    if not suspicions:
        return set()
    shares = [one.false_alarm_share or 0.0 for one in suspicions]
    unseen = [1.0] * (tests - len(shares))  # series that raised none
    adjusted = false_discovery_control([*shares, *unseen])
    return {one.key for one, share in zip(suspicions, adjusted, strict=False) if share <= rate}


def place(suspicion: Suspicion, groups: Iterable[OpenGroup]) -> int | None:
    """Key of the open group of the same build that the suspicion joins; None: it needs a new one.

    The same case first: what changed at once in one case is told at once. Then eager itself and the
    compiled cases of the same benchmark whose eager control moved as much: that is one change. Then
    the same cause and direction.
    """
    known = list(groups)
    for group in known:
        if suspicion.case in group.cases:
            return group.key
    for group in known:
        if group.direction == suspicion.direction and _is_its_eager(suspicion, group):
            return group.key
    for group in known:
        if (group.cause, group.direction) == (suspicion.cause, suspicion.direction):
            return group.key
    return None


def _is_its_eager(suspicion: Suspicion, group: OpenGroup) -> bool:
    """Whether one side is eager of a benchmark, and the other one its compiled case that eager is
    to blame for.
    """
    if suspicion.config == EAGER:
        return group.cause == "eager" and suspicion.benchmark in {
            benchmark for benchmark, _ in group.cases
        }
    return suspicion.cause == "eager" and (suspicion.benchmark, EAGER) in group.cases


def cause_of(suspicions: Sequence[Suspicion]) -> str:
    """The cause that most alerts have evidence for; unknown where none has any."""
    found = Counter(one.cause for one in suspicions if one.cause != "unknown")
    return found.most_common(1)[0][0] if found else "unknown"


def direction_of(suspicions: Sequence[Suspicion]) -> Direction:
    """A trade-off where better and worse came together; neutral where neither is known."""
    found = {one.direction for one in suspicions} - {"neutral"}
    if len(found) > 1 or "trade_off" in found:
        return "trade_off"
    return found.pop() if found else "neutral"


def severity_of(suspicions: Sequence[Suspicion], passing: bool = True) -> Severity:
    """By the worst regression in thresholds of its metric, one step more where many cases got
    worse.

    Low for what only got better, and for what the false discovery rate does not let count.
    """
    worse = [one for one in suspicions if one.direction != "improvement"]
    if not worse or not passing:
        return "low"
    worst = max(one.thresholds for one in worse)
    rank = 2 if worst >= GREAT else 1 if worst >= GREAT / 2 else 0
    rank += len({one.case for one in worse}) >= MANY_CASES
    return SEVERITIES[min(rank, 2)]


def representatives(suspicions: Sequence[Suspicion], most: int = 3) -> list[int]:
    """Keys of at most `most` suspicions of different cases to measure again: the surest, the
    greatest first.

    Of a case with several alerts one stands for all: its confirmation runs bring all metrics at
    once.
    """
    ranked = sorted(
        suspicions,
        key=lambda one: (
            one.direction == "improvement",
            one.false_alarm_share or 0.0,
            -one.thresholds,
        ),
    )
    chosen: dict[tuple[str, str], int] = {}
    for one in ranked:
        chosen.setdefault(one.case, one.key)
    return list(chosen.values())[:most]


def title(suspicions: Sequence[Suspicion], since: str) -> str:
    """ "sd_unet inference: 6.2 % slower in inductor since 2.13.0", the worst case first, and how
    many more there are.

    since: "since 2.13.0", or another end of the sentence.
    """
    ranked = sorted(suspicions, key=lambda one: (one.direction == "improvement", -one.thresholds))
    first = ranked[0]
    same = [one for one in ranked if one.case == first.case]
    told = _told(same)
    others = {(one.model, one.mode) for one in ranked} - {(first.model, first.mode)}
    configs = _listed(
        sorted({one.config for one in ranked if (one.model, one.mode) == (first.model, first.mode)})
    )
    more = f" and {len(others)} more" if others else ""
    return f"{first.model} {first.mode}{more}: {told} in {configs} {since}".strip()[:300]


def words(one: Suspicion) -> str:
    """What changed, as people say it: "6.2 % slower", "fail_accuracy (was pass)", "2 more graph
    breaks".
    """
    if one.words is not None:
        return f"{one.words[1]} (was {one.words[0]})"
    metric = metric_of(one.metric)
    told = effect(metric, one.effect, None, None, one.unit)
    text = told.text if told else "changed"
    if one.unit != "percent":
        return f"{text} {metric.label.lower()}"
    return f"{_NAMED[one.metric]} {text}" if one.metric in _NAMED else text


def _statuses_first(same: Sequence[Suspicion]) -> list[Suspicion]:
    return sorted(
        same, key=lambda one: (one.words is None, one.direction == "improvement", -one.thresholds)
    )


def _told(same: Sequence[Suspicion]) -> str:
    """The changes of one case; a trade-off begins with what was lost."""
    if direction_of(same) != "trade_off":
        return ", ".join([words(one) for one in _statuses_first(same)][:3])
    gained = [words(one) for one in same if one.direction == "improvement"]
    lost = [words(one) for one in same if one.direction != "improvement"]
    return f"{', '.join(lost[:2])}, but {', '.join(gained[:2])}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (
        f" and {plural(len(names) - 2, 'more config')}" if len(names) > 2 else ""
    )
