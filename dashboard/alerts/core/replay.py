"""A stored decision, decided again. Pure: points, parameters and verdict come with the alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.detection import Point, SeriesState, Settings, UsualNoise, Verdict, judge

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
    state = SeriesState(Settings(**decision["settings"]), UsualNoise(**usual) if usual else None)
    points = []
    devices = decision.get("devices") or [""] * len(decision["points"])  # older alerts have none
    for position, (value, low, high) in enumerate(decision["points"]):
        points.append(Point(value, low, high, position, devices[position]))
    _, reports = judge(points, state)
    decided = [report.verdict for report in reports if report.seen_at == len(points) - 1]
    today = next((verdict for verdict in decided if verdict.state == "changed"), None)
    stored = Verdict(**{**decision["verdict"], "state": "changed"})
    return Replay(
        points=points,
        at=list(decision["at"]),
        index=decision["verdict"]["index"],
        stored=sentence(stored),
        today=sentence(today) if today else None,
        differs=today is None or not is_same_decision(stored, today),
    )


def is_same_decision(one: Verdict, other: Verdict) -> bool:
    """Test whether two verdicts are the same decision."""
    is_close = abs(one.effect - other.effect) <= SAME_PERCENT / 100 * abs(one.effect)
    return is_close and (one.index, one.cause, one.unit) == (other.index, other.cause, other.unit)


def sentence(verdict: Verdict) -> str:
    """ "step at point 30: +10.5 percent (+9.3 to +11.8), sure 0.99988"."""
    low, high = verdict.effect_low, verdict.effect_high
    ends = "" if low == high else f" ({low:+.3g} to {high:+.3g})"
    effect = f"{verdict.effect:+.4g} {verdict.unit}{ends}"
    return f"{verdict.cause} at point {verdict.index}: {effect}, sure {verdict.sure:.6g}"
