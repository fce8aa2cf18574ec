"""The soak of a result document, as the job page shows it. Pure."""

from dataclasses import dataclass

from dashboard.language.contracts import Document
from dashboard.language.metrics import METRICS
from dashboard.language.wording import interval, number, quantity
from dashboard.results.core.report_bars import Bar, bars

GROWTH = "memory_growth_mb"


@dataclass(frozen=True, slots=True)
class Soak:
    """Memory use over the steps. bars: what was in use in each part.

    verdict: in one sentence, no firmer than the interval.
    """

    steps: int
    verdict: str
    what: str
    bars: list[Bar]


def soak(document: Document) -> Soak | None:
    """None for a job that was asked for none."""
    section = document.get("soak")
    if not section:
        return None
    what = "tensors on the GPU"
    if document.get("job", {}).get("device", "cpu") == "cpu":
        what = "the process"
    rows = []
    end = section["warm_up_steps"]
    for megabytes in section["parts_mb"]:
        start, end = end, end + section["part_steps"]
        label = f"Steps {start + 1} to {end}"
        rows.append((label, megabytes, f"{number(megabytes)} MB", ""))
    verdict = _verdict(document.get("metrics", {}).get(GROWTH))
    return Soak(section["steps"], verdict, what, bars(rows))


def _verdict(growth: Document | None) -> str:
    if growth is None:
        return "Growth could not be determined."
    metric = METRICS[GROWTH]
    value, low, high = growth["value"], growth.get("low"), growth.get("high")
    text = f"{quantity(metric, value, low, high)} per 100 steps"
    ends = interval(metric, low, high)
    if ends:
        text = f"{text} (95% interval {ends})"
    if low is not None and low > 0:
        return f"Memory grows: {text}."
    return f"No growth is shown: {text}."
