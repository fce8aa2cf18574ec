"""The axes of a chart, as plotly takes them. Pure."""

from datetime import datetime
from typing import Any

from dashboard.language.metrics import Metric
from dashboard.language.wording import axis_title


def value_axis(metric: Metric) -> dict[str, Any]:
    """Its title, and how its ticks are written: a drift as a power of ten, else plain digits, the
    thousands grouped as everywhere on the site.
    """
    return {
        "title": {"text": axis_title(metric)},
        "automargin": True,
        "exponentformat": "power" if "drift" in metric.key else "none",
        "separatethousands": True,
    }


def milliseconds(at: datetime) -> int:
    """A moment on the time axis, as `ChartLine.at_ms` has it."""
    return int(at.timestamp() * 1000)
