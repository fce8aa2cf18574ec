"""The page of one benchmark's trend: the newest data in words and as a table.

Its figures are in series_figures.py.
"""

from collections.abc import Sequence
from typing import Any

from dashboard.alerts.selectors import controls
from dashboard.language.metrics import METRICS
from dashboard.results.selectors import trend
from dashboard.trends.selectors.marks import Marks, marked_lines, read_marks
from dashboard.trends.selectors.own_revisions import side_by_side
from dashboard.trends.selectors.series_selection import SAMPLED, SeriesSelection
from dashboard.ui.charts import ChartLine

_MOST_READ = 200  # points of each config, for the words
# Of the table, unless more are requested: rendering them is most of what the page takes
_TABLE_ROWS = 50


def series_page(selection: SeriesSelection, *, more_rows: bool) -> dict[str, Any]:
    """What the page shows of the selection, by the names of its template. At most five queries."""
    series, metric = selection.series, selection.metric
    lines = selection.lines(newest=_MOST_READ)
    marks = read_marks(selection.benchmark, series, metric)
    measured = selection.recorded.metrics()
    invalid: dict[str, str] = {}
    for reasons in marks.invalid.values():
        invalid |= reasons
    names, can_show = {}, {}
    for row in series:
        names[row.pk] = row.config.name
        can_show[row.config.name] = marks.can_show.get(row.pk)
    counts = [row.count for row in series]
    return {
        "has_samples": metric.key in SAMPLED,
        "controls": controls.series(series),
        "metrics": [metric for metric in METRICS.values() if metric.key in measured],
        "configs": selection.recorded.configs(metric.key),
        "chosen": selection.configs,
        "summaries": [
            trend.summary(line.valid, metric) for line in marked_lines(lines, series, marks)
        ],
        "marks": marks,
        "not_judged": why_not_judged(selection, marks),
        "revisions": side_by_side(selection),
        "can_show": can_show,
        "names": names,
        "invalid": invalid,
        "table": newest_points(lines, _MOST_READ if more_rows else _TABLE_ROWS),
        "total": sum(counts),
        "most_read": _MOST_READ,
        "is_cut": max(counts, default=0) > _MOST_READ,
    }


def why_not_judged(selection: SeriesSelection, marks: Marks) -> str:
    """Why no change was looked for in what is shown; empty where detection judges it."""
    if marks.can_show:
        return ""
    if selection.place and selection.place.imported:
        return "Imported results are not judged here"
    if not selection.metric.alerts:
        return f"{selection.metric.label} is not judged here"
    return "Nothing was judged here yet: detection reads scheduled runs alone"


def newest_points(lines: Sequence[ChartLine], most: int) -> list[tuple[ChartLine, int]]:
    """The newest ``most`` points of all lines, newest first, as (line, index)."""
    points = []
    for number, line in enumerate(lines):
        count = len(line.value)
        for index in range(max(count - most, 0), count):
            points.append((int(line.at_ms[index]), number, index))
    points.sort(reverse=True)
    return [(lines[number], index) for _, number, index in points[:most]]
