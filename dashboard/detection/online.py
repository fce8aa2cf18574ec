"""The online detector: judges one series, point after point."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashboard.detection import stored_state
from dashboard.detection.abstention import Limit, limit_of
from dashboard.detection.points import Point, Settings, Verdict
from dashboard.detection.segment import Watching
from dashboard.detection.series_state import SeriesState
from dashboard.detection.usual_noise import UsualNoise

VERSION = 4
"""Of the method and of the stored state. A change that can alter a decision needs a new number."""


class OnlineDetector:
    """Judges one series, point after point, at a cost that does not grow with the history.

    detector = OnlineDetector(settings); verdict = detector.update(point). `state()` is JSON;
    `restored()` goes on from it exactly where it was.

    usual: the noise of other series of the kind, which a young one borrows.
    series: all that is known of the series, a value that `update` replaces.
    """

    def __init__(self, settings: Settings, usual: UsualNoise | None = None) -> None:
        self.series = SeriesState(settings, usual=usual)

    def update(self, point: Point) -> Verdict:
        """Judge one more point.

        Raises ValueError for a negative count. "changed" comes once for each change; the next point
        is already judged against the new level.
        """
        self.series, verdict = self.series.after(point)
        return verdict

    def borrow(self, usual: UsualNoise | None) -> None:
        """Expect the noise that is usual of the other series; meant for one not yet judged."""
        self.series = replace(self.series, usual=usual)

    @property
    def settings(self) -> Settings:
        """Settings by which the series is judged."""
        return self.series.settings

    @property
    def seen(self) -> int:
        """Points so far."""
        return self.series.seen

    @property
    def next_fit(self) -> int:
        """Points of the present level after which its noise is estimated next."""
        return self.series.segment.next_fit

    @property
    def limit(self) -> Limit | None:
        """Reason why changes of its level are not reported, or reported late; None without one."""
        segment = self.series.segment
        if not isinstance(segment, Watching) or self.series.constant.is_quiet:
            return None
        fit = segment.fit
        return limit_of(fit.model, fit.tests.fewest, fit.scale.unit == "percent")

    def state(self) -> dict[str, Any]:
        """All that the detector knows, as JSON-ready values: a few kB, whatever the history's
        length.
        """
        return {"version": VERSION, **stored_state.to_json(self.series)}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> "OnlineDetector":
        """The detector that `state()` came from.

        Raises ValueError if another version of the detector wrote it: run the series through a new
        detector then.
        """
        if state.get("version") != VERSION:
            raise ValueError(
                f"the detector's state has version {state.get('version')}, this is version "
                f"{VERSION}; run the series' points through a new OnlineDetector"
            )
        detector = cls(Settings(**state["settings"]))
        detector.series = stored_state.from_json(state)
        return detector
