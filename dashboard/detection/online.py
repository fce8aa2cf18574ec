"""The online detector: one point in, one verdict out, at a cost that does not grow with the
history.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dashboard.detection import bank, drift
from dashboard.detection.held import Held
from dashboard.detection.law import ROW_FIELDS, WINDOW, Laws, with_mode_tables
from dashboard.detection.points import UNCHANGED, ChangePoint, Point, Settings, State, Verdict
from dashboard.detection.ruler import Ruler
from dashboard.detection.stretch import (
    FIRST,
    KEPT,
    Alarm,
    drift_alarm,
    fitted_on,
    held_alarm,
    laws_for,
    next_fit,
    step_alarm,
    sure,
)
from dashboard.detection.tables import STUDENT, Floats, Ints

VERSION = 2
"""Of the method and of the stored state. A change that can alter a decision needs a new number."""

NO_RISE = (0.0, 1.0)
NO_RUN = -1e9
"""A sum that no run goes on from (and that JSON can carry, unlike minus infinity)."""
NOUGHT = np.zeros(1, dtype=int)


class OnlineDetector:
    """Judges one series, point after point.

    detector = OnlineDetector(settings); verdict = detector.update(point). `state()` is JSON;
    `restored()` goes on from it exactly where it was. About 0.1 ms a point, whatever the history's
    length.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seen = 0
        self.held = Held()
        self.start, self.next_fit = 0, FIRST
        self.recent: list[float] = []
        self.spreads: list[float] = []
        self.ruler: Ruler | None = None
        self.carried: Laws | None = None
        self.law: Laws | None = None
        self.usual_width = 0.0
        self.line, self.rise = drift.Line(), NO_RISE
        self.sums: Floats
        self.counts: Ints
        self.reset_bank()

    def update(self, point: Point) -> Verdict:
        """Judge one more point.

        Raises ValueError for a negative count. "changed" comes once for each change; the next point
        is already judged against the new level.
        """
        alarm = self.take(point)
        if alarm is not None:
            return verdict_of(alarm, "changed")
        return self.suspicion(point.value)

    def take(self, point: Point) -> Alarm | None:
        """The same, as an alarm or nothing: what `find_change_points` collects."""
        index, self.seen = self.seen, self.seen + 1
        value = point.value
        if self.settings.kind == "status":
            return self.take_status(index, value)
        before = self.held.value
        if self.held.changed(value, self.settings):
            alarm = held_alarm(index, self.held.run, before, value, self.settings)
            self.keep(value, point.spread)
            self.restart(alarm)
            self.held.restart(value)
            return alarm
        if self.held.quiet():
            self.reset_bank()
            self.keep(value, point.spread)
            return None
        drifted = self.learn(index) if index - self.start >= self.next_fit else None
        stepped = self.score(index, value, point.spread) if self.law is not None else None
        self.keep(value, point.spread)
        if stepped is not None:
            self.restart(stepped)
        return drifted or stepped

    def take_status(self, index: int, value: float) -> Alarm | None:
        """A status needs no statistics: another word is a change."""
        before, known = self.held.value, self.held.at > 0
        self.held.hold(value, proven=True)
        return (
            held_alarm(index, 1, before, value, self.settings)
            if known and value != before
            else None
        )

    def learn(self, index: int) -> Alarm | None:
        """Estimate the law of the present level anew; the alarm if it turns out to have drifted."""
        own = index - self.start
        values = np.array(self.recent)
        if self.ruler is None:
            self.ruler = Ruler.at(values[:FIRST], self.settings)
        readings, left_out = self.ruler.read(values), own - fitted_on(own)
        window = np.full((1, WINDOW), np.nan)
        used = readings[: len(readings) - left_out][-WINDOW:]
        window[0, WINDOW - len(used) :] = used
        self.law = laws_for(window, self.carried, self.ruler.floor(self.settings))
        self.usual_width = self.usual(left_out)
        self.next_fit = next_fit(own)
        if self.line.count == 0 and own >= FIRST:
            for near in drift.clipped(readings, self.law.level, self.law.marginal):
                self.line.add(float(near))
        return self.drifted(index)

    def usual(self, left_out: int) -> float:
        """The usual standard error of a point within its job, on the ruler's scale."""
        ruler, _ = self.fitted()
        spreads = np.array(self.spreads[: len(self.spreads) - left_out][-WINDOW:])
        return float(np.median(ruler.widths(spreads))) if spreads.any() else 0.0

    def drifted(self, index: int) -> Alarm | None:
        """The alarm for a drift that exceeds the threshold; the detector then watches the level
        reached.
        """
        ruler, law = self.fitted()
        count, total, moment = (
            np.array([part]) for part in (self.line.count, self.line.total, self.line.moment)
        )
        risen, error = drift.rise(count, total, moment, law)
        self.rise = (float(risen[0]), float(error[0])) if self.line.count else NO_RISE
        threshold = ruler.threshold(self.settings)
        if not drift.told(count, risen, error, threshold)[0]:
            return None
        alarm = drift_alarm(index, self.start, *self.rise, threshold, ruler, law)
        self.restart(alarm)
        self.learn(index)
        return alarm

    def fitted(self) -> tuple[Ruler, Laws]:
        """How the present level is read; `learn` has been called for it."""
        assert self.ruler is not None
        assert self.law is not None
        return self.ruler, self.law

    def score(self, index: int, value: float, spread: float) -> Alarm | None:
        """Run the bank one point further; the alarm if it has enough evidence of a step."""
        ruler, law = self.fitted()
        readings = ruler.read(np.array([self.recent[-1], value]))
        width = ruler.widths(np.array([spread]))
        width = np.sqrt(np.maximum(width**2 - self.usual_width**2, 0.0))
        fresh = bank.fresh_parts(readings[1:], readings[:1], width, law, NOUGHT)
        scores = bank.scores(fresh, law, NOUGHT, ruler.threshold(self.settings))
        self.sums, self.counts = bank.step(self.sums, self.counts, *scores)
        if self.line.count:
            self.line.add(float(drift.clipped(readings[1:], law.level, law.marginal)[0]))
        shares = bank.surplus(self.sums, self.counts, law, NOUGHT)
        best = int(shares.argmax())
        self.share, self.count = float(shares[best, 0]), int(self.counts[best, 0])
        if self.share < 1:
            return None
        alarm = self.step_seen(index, [*self.recent, value])
        if drift.worth_telling(alarm.effect, *self.rise, ruler.threshold(self.settings)):
            return alarm
        self.reset_bank()
        return None

    def step_seen(self, index: int, values: list[float]) -> Alarm:
        """The step that the bank has evidence of; values end with the point at index."""
        ruler, law = self.fitted()
        readings = ruler.read(np.array(values))
        return step_alarm(index, readings, self.count, self.share, ruler, law)

    def suspicion(self, value: float) -> Verdict:
        """What is to be said when nothing has changed for certain: suspected, or unchanged."""
        if self.held.run and self.held.holds() and self.held.matters(value, self.settings):
            alarm = held_alarm(self.seen - 1, self.held.run, self.held.value, value, self.settings)
            return verdict_of(alarm, "suspected")
        if self.share < bank.REQUIRED.suspected:
            return UNCHANGED
        return verdict_of(self.step_seen(self.seen - 1, self.recent), "suspected")

    def keep(self, value: float, spread: float) -> None:
        """Remember the newest KEPT points of the present level."""
        self.recent.append(value)
        self.spreads.append(spread)
        del self.recent[:-KEPT], self.spreads[:-KEPT]

    def restart(self, alarm: Alarm) -> None:
        """Watch the new level: its mean unknown, the spread of the old one kept."""
        carried = alarm.law or self.law or self.carried
        same_scale = self.ruler is not None and self.ruler.unit == alarm.after.unit
        self.carried, self.law = (carried if same_scale else None), None
        self.ruler = alarm.after if self.carried is not None else None
        begins = len(self.recent) - (self.seen - alarm.starts) + (alarm.cause == "drift")
        self.recent, self.spreads = self.recent[begins:], self.spreads[begins:]
        self.start = alarm.starts
        self.next_fit = len(self.recent) if self.carried is not None else FIRST
        self.line, self.rise = drift.Line(), NO_RISE
        self.reset_bank()

    def reset_bank(self) -> None:
        """No evidence of any step."""
        self.sums, self.counts = (
            np.full((2 * bank.SIZES, 1), NO_RUN),
            np.zeros((2 * bank.SIZES, 1), dtype=int),
        )
        self.share, self.count = 0.0, 0

    def state(self) -> dict[str, Any]:
        """All that the detector knows, as JSON-ready values: a few kB, whatever the history's
        length.
        """
        return {
            "version": VERSION,
            "settings": asdict(self.settings),
            "seen": self.seen,
            "held": asdict(self.held),
            "start": self.start,
            "next_fit": self.next_fit,
            "recent": self.recent,
            "spreads": self.spreads if any(self.spreads) else [],
            "ruler": asdict(self.ruler) if self.ruler else None,
            "carried": law_state(self.carried),
            "law": law_state(self.law),
            "usual_width": self.usual_width,
            "line": asdict(self.line),
            "rise": self.rise,
            "sums": self.sums[:, 0].tolist(),
            "counts": self.counts[:, 0].tolist(),
            "share": self.share,
            "count": self.count,
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> "OnlineDetector":
        """The detector that `state()` came from.

        Raises ValueError if another version of the detector wrote it: run the series through a new
        detector then.
        """
        if state.get("version") != VERSION:
            raise ValueError(
                f"the detector's state has version {state.get('version')}, this is version "
                f"{VERSION}; "
                "run the series' points through a new OnlineDetector"
            )
        detector = cls(Settings(**state["settings"]))
        for name in ("seen", "start", "next_fit", "usual_width", "share", "count"):
            setattr(detector, name, state[name])
        detector.recent = list(state["recent"])
        detector.spreads = list(state["spreads"]) or [0.0] * len(detector.recent)
        detector.held, detector.line = Held(**state["held"]), drift.Line(**state["line"])
        detector.rise = tuple(state["rise"])
        detector.ruler = Ruler(**state["ruler"]) if state["ruler"] else None
        detector.carried, detector.law = law_restored(state["carried"]), law_restored(state["law"])
        detector.sums, detector.counts = np.array([state["sums"]]).T, np.array([state["counts"]]).T
        return detector


def law_state(law: Laws | None) -> dict[str, float] | None:
    """A one-row law as numbers; the tables are made from them again."""
    if law is None:
        return None
    numbers = {name: getattr(law, name)[0].item() for name in ROW_FIELDS}
    return {**numbers, "shape": 0 if law.half[0] else numbers["shape"]}


def law_restored(state: Mapping[str, float] | None) -> Laws | None:
    """The law that `law_state` came from."""
    if state is None:
        return None
    return with_mode_tables(
        Laws(**{name: np.array([state[name]]) for name in ROW_FIELDS}, tables=STUDENT)
    )


def verdict_of(alarm: Alarm, state: State) -> Verdict:
    """An alarm as the verdict of the online form."""
    return Verdict(
        state,
        alarm.index,
        alarm.cause,
        alarm.effect,
        alarm.low,
        alarm.high,
        alarm.ruler.unit,
        sure(alarm.share),
        *alarm.levels,
    )


def change_point(alarm: Alarm, position: int) -> ChangePoint:
    """An alarm as a change point."""
    return ChangePoint(
        alarm.index,
        position,
        alarm.seen_at,
        alarm.cause,
        alarm.effect,
        alarm.low,
        alarm.high,
        alarm.ruler.unit,
        sure(alarm.share),
        *alarm.levels,
    )
