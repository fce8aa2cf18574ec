"""A result document (result.v1) as the rows of the job page. Pure; whatever a document lacks is an
empty list.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import duration, interval, metric_of, number, quantity

Document = Mapping[str, Any]

_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Speed",
        (
            "speedup",
            "latency_ms",
            "eager_latency_ms",
            "latency_p90_ms",
            "latency_p99_ms",
            "throughput_per_s",
        ),
    ),
    (
        "Start",
        ("cold_start_s", "warm_start_s", "restored_start_s", "break_even_steps", "compile_cpu_s"),
    ),
    (
        "Compile phases",
        (
            "compile_dynamo_s",
            "compile_aot_s",
            "compile_inductor_s",
            "compile_triton_s",
            "toolchain_s",
        ),
    ),
    (
        "Memory",
        ("peak_memory_gb", "eager_peak_memory_gb", "compression_ratio", "compile_peak_memory_gb"),
    ),
    (
        "Exactness",
        (
            "drift",
            "eager_drift",
            "drift_gradients",
            "eager_drift_gradients",
            "drift_loss",
            "eager_drift_loss",
        ),
    ),
    ("Graphs", ("graph_breaks", "unique_graphs", "recompiles", "cache_hits", "guard_overhead_us")),
)
_STARTS = (("cold_start_s", "cold"), ("warm_start_s", "warm"), ("restored_start_s", "restored"))
_PHASES = ("compile_dynamo_s", "compile_aot_s", "compile_inductor_s", "compile_triton_s")
_MEMORY = ("eager_peak_memory_gb", "peak_memory_gb", "compile_peak_memory_gb")
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
)
_DRIFTS = (
    ("outputs", "drift", "eager_drift"),
    ("gradients", "drift_gradients", "eager_drift_gradients"),
    ("loss", "drift_loss", "eager_drift_loss"),
)


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of a job: as text with its 95 % interval, from n samples (0: not said)."""

    metric: Metric
    text: str
    interval: str
    n: int


@dataclass(frozen=True, slots=True)
class MetricGroup:
    title: str
    rows: list[MetricRow]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a small chart in SVG; share: its length, 0 … 100, of the longest; offset: where it
    begins.
    """

    label: str
    text: str
    share: float
    about: str = ""
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Drift:
    """Distance of the compiled and of the eager result from the reference, and how many times
    eager's it is.
    """

    what: str
    compiled: str
    eager: str
    ratio: str


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    rows: list[tuple[str, str]]


def metric_groups(document: Document) -> list[MetricGroup]:
    """All metrics in groups; one that no group names comes last under "Other"."""
    found: Mapping[str, Any] = document.get("metrics", {})
    grouped = {key for _, keys in _GROUPS for key in keys}
    other = tuple(key for key in found if key not in grouped)
    groups = [
        MetricGroup(title, [_measured(key, found[key]) for key in keys if key in found])
        for title, keys in (*_GROUPS, ("Other", other))
    ]
    return [group for group in groups if group.rows]


def _measured(key: str, entry: Mapping[str, Any]) -> MetricRow:
    metric, low, high = metric_of(key), entry.get("low"), entry.get("high")
    return MetricRow(
        metric,
        quantity(metric, entry["value"], low, high),
        interval(metric, low, high),
        entry.get("n", 0),
    )


def absent(document: Document) -> list[tuple[Metric, str]]:
    """Metrics that could not be measured, and why."""
    return [(metric_of(key), why) for key, why in document.get("absent", {}).items()]


def starts(document: Document) -> list[Bar]:
    """The starts as a waterfall on one time axis: the phases of the cold one end to end, then each
    whole.

    What the phases leave of the cold start is its first step itself, and what no phase counts.
    """
    found = _seconds(document, [key for key, _ in _STARTS])
    phases = _seconds(document, _PHASES) if "cold_start_s" in found else {}
    parts = [(METRICS[key].label, seconds, METRICS[key].about) for key, seconds in phases.items()]
    rest = found.get("cold_start_s", 0) - sum(phases.values())
    if phases and rest > 0:
        parts.append(
            ("First step and the rest", rest, "The step itself, and what no phase counts.")
        )
    ends = [0.0, *accumulate(seconds for _, seconds, _ in parts)]
    longest = max([*found.values(), ends[-1]], default=0)
    waterfall = [_placed(*part, start, longest) for part, start in zip(parts, ends, strict=False)]
    whole = [
        _placed(METRICS[key].label, seconds, METRICS[key].about, 0, longest)
        for key, seconds in found.items()
    ]
    return [*waterfall, *whole]


def _placed(label: str, seconds: float, about: str, start: float, longest: float) -> Bar:
    scale = 100 / longest if longest > 0 else 0
    return Bar(label, duration(seconds), round(seconds * scale, 2), about, round(start * scale, 2))


def _seconds(document: Document, keys: Sequence[str]) -> dict[str, float]:
    found: Mapping[str, Any] = document.get("metrics", {})
    return {key: found[key]["value"] for key in keys if key in found}


def phases(document: Document) -> list[Bar]:
    """The longest of the compiler's own timers. They nest and do not add up to the start."""
    raw: Mapping[str, float] = document.get("compile", {}).get("phases_s", {})
    return _bars(
        (name, seconds, duration(seconds), "")
        for name, seconds in sorted(raw.items(), key=lambda item: -item[1])[:12]
    )


def memory(document: Document) -> list[Bar]:
    """Peak memory of each arm, and while compiling."""
    return _metric_bars(document, _MEMORY)


def stages(document: Document) -> list[Bar]:
    """Where the job's wall time went, in the order of the job."""
    found: Mapping[str, float] = document.get("wall_s", {})
    order = sorted(found, key=lambda name: _STAGES.index(name) if name in _STAGES else len(_STAGES))
    return _bars((name, found[name], duration(found[name]), "") for name in order)


def _metric_bars(document: Document, keys: Sequence[str]) -> list[Bar]:
    found: Mapping[str, Any] = document.get("metrics", {})
    return _bars(
        (
            METRICS[key].label,
            found[key]["value"],
            quantity(METRICS[key], found[key]["value"]),
            METRICS[key].about,
        )
        for key in keys
        if key in found
    )


def _bars(rows: Iterable[tuple[str, float, str, str]]) -> list[Bar]:
    listed = list(rows)
    longest = max((value for _, value, _, _ in listed), default=0)
    return [
        Bar(label, text, round(100 * value / longest, 2) if longest > 0 else 0, about)
        for label, value, text, about in listed
    ]


def drifts(document: Document) -> list[Drift]:
    """Drift beside eager's own: what the compiler adds to what the dtype alone costs."""
    found: Mapping[str, Any] = document.get("metrics", {})
    rows = []
    for what, compiled_key, eager_key in _DRIFTS:
        if compiled_key in found:
            compiled, eager = found[compiled_key]["value"], found.get(eager_key, {}).get("value")
            rows.append(
                Drift(
                    what,
                    number(compiled),
                    number(eager),
                    f"{number(compiled / eager)}×" if eager else "–",
                )
            )
    return rows


def distances(document: Document) -> list[Section]:
    """Every distance that was taken, by tensor."""
    tensors: Mapping[str, Any] = document.get("accuracy", {}).get("tensors", {})
    return [Section(name, _flat(found)) for name, found in tensors.items()]


def environment(document: Document) -> list[Section]:
    """What it ran on: torch, machine, libraries, settings."""
    found: Mapping[str, Any] = document.get("environment", {})
    sections = [
        Section(title, _flat(found.get(key, {})))
        for title, key in (
            ("PyTorch", "torch"),
            ("Machine", "machine"),
            ("Libraries", "libraries"),
            ("Settings", "settings"),
        )
    ]
    if "python" in found and sections[0].rows:
        sections[0].rows.append(("python", str(found["python"])))
    return [section for section in sections if section.rows]


def start_details(document: Document) -> list[Section]:
    """What was seen in each start beside its length."""
    found: Mapping[str, Any] = document.get("starts", {})
    return [Section(name, _flat(found[name])) for _, name in _STARTS if name in found]


def compiler_facts(document: Document) -> list[Section]:
    """Counters, code fingerprints and submodules, as the compiler reported them."""
    found: Mapping[str, Any] = document.get("compile", {})
    sections = [
        Section(title, _flat(found.get(key, {})))
        for title, key in (
            ("Counters", "counters"),
            ("Code fingerprints", "fingerprints"),
            ("Compile time by submodule, s", "submodules"),
        )
    ]
    return [section for section in sections if section.rows]


def _flat(found: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested objects as (dotted name, text) rows; what is null says so."""
    rows: list[tuple[str, str]] = []
    for name, value in found.items():
        if isinstance(value, Mapping):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            rows.append((f"{prefix}{name}", _text(value)))
    return rows


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return str(value)
