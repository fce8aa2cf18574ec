"""Results of selectors for charts and tables, made without a database."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dashboard.models import Series, TorchBuild
from dashboard.results.selectors.rollup import CaseRollup, Newest
from dashboard.ui.charts import ChartLine

DAY_MS = 86_400_000


def line(values: list[float], **fields: Any) -> ChartLine:
    """A line with a point for each day; ``fields`` replace its defaults."""
    value, count = np.array(values, np.float64), len(values)
    defaults: dict[str, Any] = {
        "name": "inductor",
        "position": 1,
        "slot": 1,
        "low": value - 0.1,
        "high": value + 0.1,
        "job": [f"job-{i}" for i in range(count)],
        "status": np.where(np.isnan(value), "oom", "pass").tolist(),
        "purpose": ["scheduled"] * count,
        "build": ["2.13.0"] * count,
    }
    return ChartLine(
        at_ms=np.arange(count) * DAY_MS,
        value=value,
        **(defaults | fields),
    )


def series_of(points: ChartLine) -> Series:
    """The series of a line, whose builds came in their order: the last two of them."""
    means: dict[str, list[float]] = {}
    for build, value in zip(points.build, points.value.tolist(), strict=True):
        if not np.isnan(value):
            means.setdefault(build, []).append(value)
    row = Series()
    new, *before = reversed(means)
    row.newest_build, row.newest_value = TorchBuild(label=new), float(np.mean(means[new]))
    if before:
        row.previous_build = TorchBuild(label=before[0])
        row.previous_value = float(np.mean(means[before[0]]))
    return row


def newest(
    value: float | None,
    status: str = "pass",
    at_s: float = 1.0,
    **fields: Any,
) -> Newest:
    defaults: dict[str, Any] = {
        "low": None,
        "high": None,
        "previous": None,
        "job": "a-job",
    }
    return Newest(
        value=value,
        status=status,
        at_s=at_s,
        **(defaults | fields),
    )


def case(
    values: Mapping[str, Newest],
    config: str = "inductor",
    benchmark: str = "a",
    family: str = "llm",
    version: int = 1,
) -> CaseRollup:
    case = CaseRollup(benchmark, family, "inference", "float32", "smoke", config, 1)
    for metric, value in values.items():
        case.add(metric, value, version)
    return case
