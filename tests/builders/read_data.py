"""What selectors give to charts and tables, made without a database."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dashboard.results.selectors.rollup import CaseRollup, Newest
from dashboard.ui.charts import ChartLine

DAY_MS = 86_400_000


def line(values: list[float], **fields: Any) -> ChartLine:
    """A line of one point a day; ``fields`` replace what it has of one word per point."""
    value, count = np.array(values, np.float64), len(values)
    words = {
        "status": ["oom" if np.isnan(v) else "pass" for v in values],
        "purpose": ["scheduled"] * count,
        "build": ["2.13.0"] * count,
    }
    arrays = {"low": value - 0.1, "high": value + 0.1}
    made: dict[str, Any] = {
        "name": "inductor",
        "position": 1,
        "job": [f"job-{i}" for i in range(count)],
        **words,
        **arrays,
        **fields,
    }
    return ChartLine(at_ms=np.arange(count) * DAY_MS, value=value, **made)


def newest(value: float | None, status: str = "pass", at_s: float = 1.0, **fields: Any) -> Newest:
    known: dict[str, Any] = {"low": None, "high": None, "previous": None, "job": "a-job", **fields}
    return Newest(value=value, status=status, at_s=at_s, **known)


def case(
    values: Mapping[str, Newest],
    config: str = "inductor",
    benchmark: str = "a",
    family: str = "llm",
) -> CaseRollup:
    made = CaseRollup(benchmark, family, "inference", "float32", "smoke", config, 1)
    for metric, value in values.items():
        made.add(metric, value)
    return made
