"""The page of one benchmark's trend: the answers, the newest data in words and as a table.

Its figures are in series_figures.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.alerts.selectors import controls
from dashboard.detection import Limit
from dashboard.language.metrics import METRICS, Metric
from dashboard.results.selectors import trend
from dashboard.results.selectors.build_order import newest_first
from dashboard.results.selectors.trend import LineSummary
from dashboard.trends.selectors.marks import AlertMark, Marks, Noisier, marked_lines, read_marks
from dashboard.trends.selectors.measured_in_turn import OldestToNewest, oldest_to_newest
from dashboard.trends.selectors.own_revisions import side_by_side
from dashboard.trends.selectors.series_selection import SAMPLED, SeriesSelection
from dashboard.ui.charts import ChartLine

_MOST_READ = 200  # points of each config, for the words
# Of the table, unless more are requested: rendering them is most of what the page takes
_TABLE_ROWS = 50

Point = tuple[ChartLine, int]  # a line and the place of a datum in it
Number = tuple[float, float, float]  # value, low, high; NaN where there is none


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """One config in one metric: its newest value, and whether its level changed.

    alert: the newest one in what is shown. can_show: the smallest change in percent that detection
    can show; None: not known yet. seen: points that it has read. not_judged: why nothing was
    looked for, or empty.
    limit: why changes are not reported, or late. noisier: since when its spread is larger.
    """

    summary: LineSummary
    alert: AlertMark | None
    can_show: float | None
    seen: int
    not_judged: str
    limit: Limit | None
    noisier: Noisier | None


@dataclass(frozen=True, slots=True)
class MetricAnswers:
    """The answers in one metric, and the lines that they are read from.

    in_turn: of the whole time, where builds were measured in turn and no level is known yet.
    """

    metric: Metric
    lines: list[ChartLine]
    marks: Marks
    answers: list[SeriesAnswer]
    in_turn: OldestToNewest | None = None


def series_page(selection: SeriesSelection, *, more_rows: bool) -> dict[str, Any]:
    """Collect what the page shows of the selection, by the names of its template. At most nine
    queries, and five more for each metric whose builds were measured in turn.

    is_in_turn: whether its points in time are no trend.
    """
    series, metric = selection.series, selection.metric
    parts = [_answers(part) for part in selection.parts]
    lines, marks = parts[0].lines, parts[0].marks
    is_in_turn = any(part.in_turn for part in parts)
    measured = selection.recorded.metrics()
    invalid: dict[str, str] = {}
    for reasons in marks.invalid.values():
        invalid |= reasons
    counts = [row.count for row in series]
    points = newest_points(lines, _MOST_READ if more_rows else _TABLE_ROWS)
    return {
        "has_samples": metric.key in SAMPLED,
        "controls": controls.series(series),
        "metrics": [metric for metric in METRICS.values() if metric.key in measured],
        "configs": selection.recorded.configs(metric.key),
        "chosen": selection.configs,
        "parts": parts,
        "is_in_turn": is_in_turn,
        "newest_build": newest_first(selection.place)[0] if selection.place else None,
        "default_axis": _default_axis(is_in_turn),
        "marks": marks,
        "not_judged": why_not_judged(selection, marks),
        "revisions": side_by_side(selection),
        "names": {row.pk: row.config.name for row in series},
        "invalid": invalid,
        "table": points,
        "columns": [(part.metric, _numbers(points, part.lines)) for part in parts],
        "total": sum(counts),
        "most_read": _MOST_READ,
        "is_cut": max(counts, default=0) > _MOST_READ,
    }


def default_axis(selection: SeriesSelection) -> str:
    """Choose the axis for an address that names none: "release", or empty: time. At most two
    queries for each metric, and five more where its builds were measured in turn.
    """
    return _default_axis(any(_answers(part).in_turn for part in selection.parts))


def _default_axis(is_in_turn: bool) -> str:
    return "release" if is_in_turn else ""


def _answers(selection: SeriesSelection) -> MetricAnswers:
    lines = selection.lines(newest=_MOST_READ)
    marks = read_marks(selection.benchmark, selection.series, selection.metric)
    newest_alert = {alert.series: alert for alert in marks.alerts}  # in time order: the last stays
    rows = {row.config.name: row for row in selection.series}
    reason = why_not_judged(selection, marks)
    answers = []
    for line in marked_lines(lines, selection.series, marks):
        row = rows[line.line.name]
        key = row.pk
        answers.append(
            SeriesAnswer(
                summary=trend.summary(line.valid, selection.metric, row),
                alert=newest_alert.get(key),
                can_show=marks.can_show.get(key),
                seen=marks.seen.get(key, 0),
                not_judged="" if key in marks.can_show else reason or "Not judged yet",
                limit=marks.limits.get(key),
                noisier=marks.noisier.get(key),
            )
        )
    in_turn = None
    # A stretch of time is one of the axis of time
    is_whole = not any(selection.within)
    is_known = any(percent is not None for percent in marks.can_show.values())
    if is_whole and not is_known and any(answer.summary.in_turn for answer in answers):
        in_turn = oldest_to_newest(selection, lines)
    return MetricAnswers(selection.metric, lines, marks, answers, in_turn)


def why_not_judged(selection: SeriesSelection, marks: Marks) -> str:
    """Explain why no change was looked for in what is shown; empty where detection judges it."""
    if marks.can_show:
        return ""
    if not selection.metric.alerts:
        return f"{selection.metric.label} is not judged here"
    return "Nothing was judged here yet: detection reads scheduled runs and imports"


def newest_points(lines: Sequence[ChartLine], most: int) -> list[Point]:
    """The newest ``most`` points of all lines, newest first."""
    points = []
    for number, line in enumerate(lines):
        count = len(line.value)
        for index in range(max(count - most, 0), count):
            points.append((int(line.at_ms[index]), number, index))
    points.sort(reverse=True)
    return [(lines[number], index) for _, number, index in points[:most]]


def _numbers(points: Sequence[Point], lines: Sequence[ChartLine]) -> list[Number]:
    """Look up what the job of each point measured in the metric of ``lines``."""
    by_line: dict[str, Mapping[str, Number]] = {}
    for line in lines:
        numbers = zip(line.value.tolist(), line.low.tolist(), line.high.tolist(), strict=True)
        by_line[line.name] = dict(zip(line.job, numbers, strict=True))
    absent = (np.nan, np.nan, np.nan)
    return [by_line.get(line.name, {}).get(line.job[index], absent) for line, index in points]
