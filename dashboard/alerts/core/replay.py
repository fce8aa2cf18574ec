"""A stored decision, decided again. Pure: points, parameters and verdict come with the alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.detection import OnlineDetector, Point, Settings, Verdict

SAME_PERCENT = 0.5
"""Effects that differ by so many percent of each other are the same decision."""


@dataclass(frozen=True, slots=True)
class Replay:
    """points: with their times, the last one is where it was decided. index: of the first point of
    the new level.

    stored: the verdict as it was told; today: what this detector says at that point, None if it
        tells no change there.
    """

    points: list[Point]
    at: list[str]
    index: int
    stored: str
    today: str | None
    differs: bool


def replay(decision: Mapping[str, Any]) -> Replay:
    """Run the stored points through today's detector."""
    points = [
        Point(value, low, high, position)
        for position, (value, low, high) in enumerate(decision["points"])
    ]
    detector = OnlineDetector(Settings(**decision["settings"]))
    verdict = Verdict("unchanged")
    for point in points:
        verdict = detector.update(point)
    stored = Verdict(**{**decision["verdict"], "state": "changed"})
    told = verdict.state == "changed"
    return Replay(
        points,
        list(decision["at"]),
        decision["verdict"]["index"],
        in_words(stored),
        in_words(verdict) if told else None,
        not (told and same(stored, verdict)),
    )


def same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts are the same decision."""
    close = abs((one.effect or 0) - (other.effect or 0)) <= SAME_PERCENT / 100 * abs(
        one.effect or 0
    )
    return close and (one.index, one.cause, one.unit) == (other.index, other.cause, other.unit)


def in_words(verdict: Verdict) -> str:
    """ "step at point 30: +10.5 percent (+9.3 to +11.8), sure 0.99988"."""
    effect, low, high = (
        verdict.effect or 0.0,
        verdict.effect_low or 0.0,
        verdict.effect_high or 0.0,
    )
    ends = "" if low == high else f" ({low:+.3g} to {high:+.3g})"
    return (
        f"{verdict.cause} at point {verdict.index}: {effect:+.4g} {verdict.unit}{ends}, sure "
        f"{verdict.sure:.6g}"
    )
