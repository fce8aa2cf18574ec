"""Times and memory of a result document (result.v1) as the bars of the job page. Pure.

Whatever a document lacks is an empty list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.language.contracts import Document
from dashboard.language.durations import duration
from dashboard.language.metrics import METRICS, STARTS
from dashboard.language.wording import quantity

_PHASES = ("compile_dynamo_s", "compile_aot_s", "compile_inductor_s", "compile_triton_s")
_MEMORY = (
    "eager_peak_memory_gb",
    "peak_memory_gb",
    "reserved_memory_gb",
    "compile_peak_memory_gb",
)
_STAGES = (
    "job",
    "import",
    "starts",
    "build",
    "eager",
    "reference",
    "compile",
    "accuracy",
    "sampling",
    "profile",
    "soak",
)
_REST = "The step itself, and what no phase counts."
_TIMING = "In the first step: Inductor tried the candidate launches of its Triton kernels."


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a small chart in SVG.

    share: its length, 0 … 100, of the longest; offset: where it begins, on the same scale.
    """

    label: str
    text: str
    share: float
    about: str = ""
    offset: float = 0.0


def starts(document: Document) -> list[Bar]:
    """The starts on one time axis: the phases of the cold one end to end, then each start whole.

    What the phases leave of the cold start is its first step itself, with the timing of launches
    where the suite recorded it, and what no phase counts.
    """
    metrics = document.get("metrics", {})
    whole = [_Span.of_metric(metrics, key) for key in STARTS.values() if key in metrics]
    phases: list[_Span] = []
    if "cold_start_s" in metrics:
        phases = [_Span.of_metric(metrics, key) for key in _PHASES if key in metrics]
        timing_s = document.get("compile", {}).get("phases_s", {}).get("autotune", 0.0)
        if timing_s > 0:
            phases.append(_Span("Timing of launches", timing_s, _TIMING))
    end = 0.0
    for phase in phases:
        phase.start_s = end
        end += phase.length_s
    if phases and end < metrics["cold_start_s"]["value"]:
        rest = metrics["cold_start_s"]["value"] - end
        phases.append(_Span("First step and the rest", rest, _REST, start_s=end))
        end += rest

    longest = max([end, *(start.length_s for start in whole)])
    scale = 100 / longest if longest > 0 else 0
    return [span.bar(scale) for span in (*phases, *whole)]


@dataclass(slots=True)
class _Span:
    """A span of the job's time, for a bar on the common axis."""

    label: str
    length_s: float
    about: str
    start_s: float = 0.0

    @classmethod
    def of_metric(cls, metrics: Document, key: str) -> "_Span":
        return cls(METRICS[key].label, metrics[key]["value"], METRICS[key].about)

    def bar(self, scale: float) -> Bar:
        share, offset = round(self.length_s * scale, 2), round(self.start_s * scale, 2)
        return Bar(self.label, duration(self.length_s), share, self.about, offset)


def phases(document: Document) -> list[Bar]:
    """The longest of the compiler's own timers. They nest and do not add up to the start."""
    timers = document.get("compile", {}).get("phases_s", {})
    longest_first = sorted(timers.items(), key=lambda timer: -timer[1])
    return bars([(name, seconds, duration(seconds), "") for name, seconds in longest_first[:12]])


def memory(document: Document) -> list[Bar]:
    """Peak memory of each arm, what was reserved for it, and the peak while compiling."""
    metrics = document.get("metrics", {})
    rows = []
    for key in _MEMORY:
        if key in metrics:
            metric, value = METRICS[key], metrics[key]["value"]
            rows.append((metric.label, value, quantity(metric, value), metric.about))
    return bars(rows)


def stages(document: Document) -> list[Bar]:
    """Divide the job's wall time into stages, in the order of the job; unknown ones come last."""
    wall_s = document.get("wall_s", {})
    order = [name for name in _STAGES if name in wall_s]
    order += [name for name in wall_s if name not in _STAGES]
    return bars([(name, wall_s[name], duration(wall_s[name]), "") for name in order])


def bars(rows: Sequence[tuple[str, float, str, str]]) -> list[Bar]:
    """Rows of (label, value, text, about) as bars, the longest of which fills its cell."""
    longest = max((value for _, value, _, _ in rows), default=0)
    bars = []
    for label, value, text, about in rows:
        share = round(100 * value / longest, 2) if longest > 0 else 0
        bars.append(Bar(label, text, share, about))
    return bars
