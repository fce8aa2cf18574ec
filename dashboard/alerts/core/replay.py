"""A stored decision, decided again. Pure: points, parameters and verdict come with the alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.detection import OnlineDetector, Point, Settings, UsualNoise, Verdict

SAME_PERCENT = 0.5
"""Effects that differ by so many percent of each other are the same decision."""


@dataclass(frozen=True, slots=True)
class Replay:
    """points: with their times, the last one is where it was decided.

    index: of the first point of the new level.
    stored: the verdict as it was then.
    today: what this detector says at that point; None if it sees no change there.
    """

    points: list[Point]
    at: list[str]
    index: int
    stored: str
    today: str | None
    differs: bool


def replay(decision: Mapping[str, Any]) -> Replay:
    """Run the stored points through today's detector."""
    usual = decision.get("usual")  # older alerts have none
    detector = OnlineDetector(
        Settings(**decision["settings"]), UsualNoise(**usual) if usual else None
    )
    verdict = Verdict("unchanged")
    points = []
    devices = decision.get("devices") or [""] * len(decision["points"])  # older alerts have none
    for position, (value, low, high) in enumerate(decision["points"]):
        point = Point(value, low, high, position, devices[position])
        points.append(point)
        verdict = detector.update(point)
    stored = Verdict(**{**decision["verdict"], "state": "changed"})
    is_change = verdict.state == "changed"
    return Replay(
        points=points,
        at=list(decision["at"]),
        index=decision["verdict"]["index"],
        stored=sentence(stored),
        today=sentence(verdict) if is_change else None,
        differs=not (is_change and is_same_decision(stored, verdict)),
    )


def is_same_decision(one: Verdict, other: Verdict) -> bool:
    """Test whether two verdicts are the same decision."""
    effect, other_effect = one.effect or 0, other.effect or 0
    is_close = abs(effect - other_effect) <= SAME_PERCENT / 100 * abs(effect)
    return is_close and (one.index, one.cause, one.unit) == (other.index, other.cause, other.unit)


def sentence(verdict: Verdict) -> str:
    """ "step at point 30: +10.5 percent (+9.3 to +11.8), sure 0.99988"."""
    low, high = verdict.effect_low or 0.0, verdict.effect_high or 0.0
    ends = "" if low == high else f" ({low:+.3g} to {high:+.3g})"
    effect = f"{verdict.effect or 0.0:+.4g} {verdict.unit}{ends}"
    return f"{verdict.cause} at point {verdict.index}: {effect}, sure {verdict.sure:.6g}"
