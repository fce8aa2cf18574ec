"""Detection on one series: its data become points, points a verdict; state in, state out. Pure.

- **A point** is one scheduled or imported datum. On a track where each build is new (nightly), the
  data of one build are repeats of one point: their median. The first one is judged at once; a
  repeat replaces the point that it belongs to, which is judged again from the state before it. On a
  track of builds side by side they are repeats whenever they were measured: `one_point_a_build`.
- **A segment** ends where the benchmark's version changes: it does something else from there on.
  The detector starts again, and no change is reported across.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from math import isfinite, log, sqrt
from statistics import fmean, median
from typing import Any, Literal

from dashboard.detection import (
    Point,
    SeriesState,
    Settings,
    UsualNoise,
    Verdict,
    from_json,
    judge,
    status_value,
    to_json,
)
from dashboard.detection.segment import FIRST_FIT
from dashboard.language.metrics import STATUS_METRIC, Metric
from dashboard.language.wording import metric_of

EXACT_UNITS = ("GB", "MB")
# A change whose first point is uncertain began where build or environment changed, if that is at
# most so many points away.
SNAP = 3
# By how much (log likelihood ratio) the points between may speak against that, and how much of it
# one of them may contribute: two that clearly stayed where they were are enough, one is not.
AGAINST, AGAINST_AT_MOST = log(100), log(20)
# Points that show the level before a change, and its noise.
LEVEL_POINTS = 20
SMALLEST = 1e-300  # in place of the variance of a level without noise


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One datum as detection reads it.

    environment: id of its fingerprint. version: the benchmark's. device: which GPU of its machine;
        empty on a CPU. imported: no worker of this site measured it.
    """

    at: datetime
    job: str
    build: int
    environment: int | None
    version: int
    status: str
    value: float | None
    low: float | None
    high: float | None
    device: str = ""
    imported: bool = False


def settings_of(metric: Metric) -> Settings:
    """Choose the settings by which the series of a metric are judged."""
    if metric.key == STATUS_METRIC:
        return Settings(0.0, "status")
    kind: Literal["count", "constant", "continuous"] = "continuous"
    if metric.aggregate == "sum":
        kind = "count"
    elif metric.unit in EXACT_UNITS:
        kind = "constant"
    return Settings(metric.threshold_percent, kind, metric.least)


def judged_value(reading: SeriesPoint, settings: Settings) -> float | None:
    """The value to judge; None for a datum that has none. A status series reads the word."""
    if settings.kind == "status":
        return status_value(reading.status)
    if reading.value is None or not isfinite(reading.value):
        return None
    return reading.value


def merge_repeats(repeats: Sequence[SeriesPoint], position: int, settings: Settings) -> Point:
    """The point of the data that belong to it: their median. Its interval narrows as √n.

    Data of several devices are of none: their point is judged by the series' level.
    """
    values = []
    half_widths = []
    for reading in repeats:
        value = judged_value(reading, settings)
        if value is not None:
            values.append(value)
        if reading.low is not None and reading.high is not None:
            half_widths.append((reading.high - reading.low) / 2)

    if settings.kind == "status":
        return Point(values[-1], None, None, position)
    middle = median(values)
    devices = {reading.device for reading in repeats}
    device = devices.pop() if len(devices) == 1 else ""
    if not half_widths:
        return Point(middle, None, None, position, device)
    reach = fmean(half_widths) / sqrt(len(repeats))
    return Point(middle, middle - reach, middle + reach, position, device)


def one_point_a_build(readings: Sequence[SeriesPoint]) -> list[SeriesPoint]:
    """Data in the order of their builds, each at the time of its first datum; oldest first."""
    first: dict[int, datetime] = {}
    for reading in readings:
        first[reading.build] = min(reading.at, first.get(reading.build, reading.at))
    return sorted(
        readings, key=lambda reading: (first[reading.build], reading.build, reading.at, reading.job)
    )


def newest_segment(
    readings: Iterable[SeriesPoint], settings: Settings, per_build: bool
) -> list[list[SeriesPoint]]:
    """The data of the newest benchmark version: a list for each point, oldest first."""
    points: list[list[SeriesPoint]] = []
    for reading in readings:
        if judged_value(reading, settings) is None:
            continue
        if points and points[-1][0].version != reading.version:
            points = []
        if points and per_build and points[-1][0].build == reading.build:
            points[-1].append(reading)
        else:
            points.append([reading])
    return points


@dataclass(frozen=True, slots=True)
class Detection:
    """A change that the detector sees, and the datum with which it came.

    seen: points until then. behind: points from the first one of the new level to the last one.
    """

    reading: SeriesPoint
    verdict: Verdict
    seen: int

    @property
    def behind(self) -> int:
        return self.seen - 1 - self.verdict.index


@dataclass(frozen=True, slots=True)
class JudgedSeries:
    """A series after some data: all that detection knows of it. `judge_history` returns the next
    one.

    now: after the newest point. before: without it. open: the data of the newest point.
    """

    metric: str
    per_build: bool
    now: SeriesState
    before: SeriesState
    open: tuple[SeriesPoint, ...] = ()

    @property
    def settings(self) -> Settings:
        return self.now.settings

    @property
    def may_borrow(self) -> bool:
        """True if it is too young to be judged, and has not borrowed any noise yet."""
        is_young = self.now.seen < FIRST_FIT and self.now.usual is None
        return is_young and self.settings.kind == "continuous"

    def borrowing(self, usual: UsualNoise | None) -> "JudgedSeries":
        """Judge by what is usual of the other series of the machine, too."""
        now, before = replace(self.now, usual=usual), replace(self.before, usual=usual)
        return replace(self, now=now, before=before)

    def to_json(self) -> dict[str, Any]:
        """All that is known, JSON-ready; without repeats only the state after the open point."""
        readings = [{**asdict(reading), "at": reading.at.isoformat()} for reading in self.open]
        if not self.per_build:
            return {"now": to_json(self.now), "open": readings[-1:]}
        return {"now": to_json(self.now), "before": to_json(self.before), "open": readings}

    @classmethod
    def from_json(cls, metric: str, per_build: bool, state: Mapping[str, Any]) -> "JudgedSeries":
        """Read what `to_json` wrote. Raises ValueError for another version or other settings."""
        now = from_json(state["now"])
        if now.settings != settings_of(metric_of(metric)):
            raise ValueError(f"the settings of {metric} have changed: judge the series again")
        repeats = []
        for reading in state["open"]:
            at = datetime.fromisoformat(reading["at"])
            repeats.append(SeriesPoint(**{**reading, "at": at}))
        before = from_json(state["before"]) if per_build else now
        return cls(metric, per_build, now, before, tuple(repeats))


def unjudged(
    metric: str,
    per_build: bool,
    usual: UsualNoise | None = None,
    settings: Settings | None = None,
) -> JudgedSeries:
    """A series without data. settings: None: the metric's own."""
    state = SeriesState(settings or settings_of(metric_of(metric)), usual)
    return JudgedSeries(metric, per_build, state, state)


def judge_history(
    history: Iterable[SeriesPoint], state: JudgedSeries
) -> tuple[JudgedSeries, list[Detection]]:
    """The state after more data, and the changes that they show, oldest first."""
    fresh = [each for each in history if judged_value(each, state.settings) is not None]
    detections = []
    for run in _together(fresh, state):
        if state.open and state.open[0].version != run[0].version:
            nothing = SeriesState(state.settings, state.now.usual)
            state = replace(state, now=nothing, before=nothing, open=())
        before, repeats = state.now, tuple(run[-1:])
        if state.per_build and state.open and state.open[-1].build == run[0].build:
            before, repeats = state.before, (*state.open, *run)
        points = [merge_repeats([each], before.seen, state.settings) for each in run[:-1]]
        before, earlier = judge(points, before)
        newest = merge_repeats(repeats, before.seen, state.settings)
        now, latest = judge([newest], before)
        state = replace(state, now=now, before=before, open=repeats)
        seen_before = now.seen - len(run)
        for report in [*earlier, *latest]:
            seen = report.seen_at + 1
            detections.append(Detection(run[seen - seen_before - 1], report.verdict, seen))
    return state, detections


def _together(fresh: Sequence[SeriesPoint], state: JudgedSeries) -> list[list[SeriesPoint]]:
    """Data that can be judged at once, each as a point of its own; what adds to the point before it
    is alone.
    """
    runs: list[list[SeriesPoint]] = []
    earlier = state.open[-1] if state.open else None
    is_repeat = False
    for reading in fresh:
        is_alone = is_repeat
        is_repeat = False
        if earlier is None or earlier.version != reading.version:
            is_alone = True
        elif state.per_build and earlier.build == reading.build:
            is_alone = is_repeat = True
        if runs and not is_alone:
            runs[-1].append(reading)
        else:
            runs.append([reading])
        earlier = reading
    return runs


def change_start(
    points: Sequence[Sequence[SeriesPoint]], index: int, settings: Settings, exact: bool
) -> int:
    """Index of the first point of the new level.

    That is where the build changed (or else the environment), if that is near and the points
    between do not speak against it. exact: the series held one value before, so `index` is certain.
    """
    if exact:
        return index
    values = [
        merge_repeats(repeats, position, settings).value for position, repeats in enumerate(points)
    ]
    candidates = range(max(1, index - SNAP), min(len(points), index + SNAP + 1))
    nearest_first = sorted(candidates, key=lambda at: abs(at - index))
    for attribute in ("build", "environment"):
        for at in nearest_first:
            before, after = points[at - 1][-1], points[at][0]
            changed = getattr(before, attribute) != getattr(after, attribute)
            if changed and _may_have_begun(values, index, at):
                return at
    return index


def _may_have_begun(values: Sequence[float], index: int, at: int) -> bool:
    """Test whether the change that was placed at `index` may have begun at `at`.

    By the likelihood of the points between, under Gaussian noise around either level, of which a
    single one may be an outlier. Of a point v, with the noise's standard deviation s:
    ln(p(v | other level) / p(v | claimed level)) = ((v − claimed)² − (v − other)²) / 2 s²
    """
    first, last = sorted((at, index))
    before = values[max(0, first - LEVEL_POINTS) : first]
    old, new = median(before), median(values[last:])
    claimed, other = (new, old) if at < index else (old, new)
    deviation = 1.4826 * median(abs(value - old) for value in before)
    scale = 2 * deviation**2 or SMALLEST

    against = 0.0
    for value in values[first:last]:
        log_ratio = ((value - claimed) ** 2 - (value - other) ** 2) / scale
        against += min(max(log_ratio, 0.0), AGAINST_AT_MOST)
    return against <= AGAINST
