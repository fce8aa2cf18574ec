"""Another version of a benchmark is another segment: no reader of a series leads from one to the
other. The second segment takes four times as long as the first.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dashboard.comparisons.core.levels import level_of
from dashboard.language.metrics import METRICS
from dashboard.results.core.mark_charts import Mark, MarkedLine, with_marks
from dashboard.results.selectors import trend
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.core.release_lines import Release, ReleaseLine
from dashboard.ui.charts import series_figure
from dashboard.ui.series_scales import relative
from tests.builders.read_data import DAY_MS, line, series_of

LATENCY = METRICS["latency_ms"]
LINE = line([10.0, 10.1] * 5 + [40.0, 40.4] * 5, version=[1] * 10 + [2] * 10)
BUILDS = [f"2.{minor}.0" for minor in range(10, 14)]


def steps(traces: list[Any]) -> list[float]:
    """Compute how far each drawn stretch of the traces goes, as a ratio."""
    ratios = []
    for trace in traces:
        values = [np.nan if y is None else y for y in trace["y"]]
        ratios += [max(pair) / min(pair) for pair in pairwise(values) if not np.isnan(pair).any()]
    return ratios


def by_time() -> list[Any]:
    marked = MarkedLine(LINE, alerts=[Mark(3 * DAY_MS, "slower")])
    traces: list[Any] = with_marks(series_figure([LINE], LATENCY), [marked], [])["data"]
    return [trace for trace in traces if trace["mode"] != "markers"]  # line, band and levels


def by_release() -> list[Any]:
    releases = []
    for build, value, version in zip(BUILDS, [10, 10.1, 40, 40.4], [1, 1, 2, 2], strict=True):
        releases.append(Release(build, level_of([value, value * 1.01]), version=version))
    return list(release_figure([ReleaseLine("inductor", 1, releases)], LATENCY, BUILDS)["data"])


@pytest.mark.parametrize("drawn", [by_time, by_release])
def test_nothing_is_drawn_from_one_segment_to_the_next(drawn: Any) -> None:
    assert max(steps(drawn())) < 1.1


def test_interval_of_a_release_has_no_spread_of_another_segment() -> None:
    (trace,) = by_release()
    assert max(trace["error_y"]["array"]) < 5


def test_words_are_of_the_newest_segment_alone() -> None:
    summary = trend.summary(LINE, LATENCY, series_of(LINE))
    assert summary.between_percent == pytest.approx(1, abs=0.6)


def test_relative_trend_begins_again_with_each_segment() -> None:
    assert np.abs(relative(LINE).value).max() < 2


def test_no_line_leads_over_a_build_that_was_not_measured_or_a_long_gap() -> None:
    releases = [Release(build, level_of([10.0, 10.1])) for build in (BUILDS[0], BUILDS[2])]
    (trace,) = release_figure([ReleaseLine("inductor", 1, releases)], LATENCY, BUILDS)["data"]
    assert None in trace["y"]
    late = line([10.0] * 6)
    late.at_ms[5] += 100 * DAY_MS
    assert np.isnan(series_figure([late], LATENCY)["data"][1]["y"]).sum() == 1
