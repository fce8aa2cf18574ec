"""A result document (result.v1) as the rows of the job page. Pure.

Whatever a document lacks is an empty list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.language.contracts import Document
from dashboard.language.metrics import STARTUPS, STATUS_METRIC, Metric, is_artefact
from dashboard.language.wording import interval, metric_of, number, quantity

COMPILE_WORK = (  # metrics
    "compile_calls",
    "guards",
    "captured_ops",
    "ir_nodes",
    "fusions",
    "generated_kernels",
    "generated_code_kb",
    "eager_fallbacks",
    "cudagraph_skips",
)
_GROUPS = {
    "Speed": (
        "speedup",
        "latency_ms",
        "eager_latency_ms",
        "latency_p90_ms",
        "latency_p99_ms",
        "throughput_per_s",
    ),
    "Device": (
        "device_ms",
        "eager_device_ms",
        "device_speedup",
        "device_share_percent",
        "host_ms",
        "kernels",
    ),
    "Start": (
        "cold_start_s",
        "warm_start_s",
        "restored_start_s",
        "cached_step_ratio",
        "startup_cold_s",
        "startup_warm_s",
        "break_even_steps",
        "compile_cpu_s",
    ),
    "Compile phases": (
        "compile_dynamo_s",
        "compile_aot_s",
        "compile_inductor_s",
        "compile_triton_s",
        "toolchain_s",
    ),
    "Memory": (
        "peak_memory_gb",
        "eager_peak_memory_gb",
        "compression_ratio",
        "compile_peak_memory_gb",
        "reserved_memory_gb",
        "host_memory_gb",
        "memory_growth_mb",
    ),
    "Shapes": ("sweep_recompiles", "sweep_recompile_s", "sweep_slow_percent"),
    "Exactness": (
        "drift",
        "eager_drift",
        "drift_gradients",
        "eager_drift_gradients",
        "drift_loss",
        "eager_drift_loss",
        "outputs_wrong",
    ),
    "Graphs": (
        "graph_breaks",
        "compiled_ops_percent",
        "unique_graphs",
        "recompiles",
        "overhead_us",
        "cache_hits",
    ),
    "Compile work": COMPILE_WORK,
}
_STARTS = ("cold", "warm", "restored", "counted", *STARTUPS, "diagnostic")
_DRIFTS = (
    ("outputs", "drift", "eager_drift"),
    ("gradients", "drift_gradients", "eager_drift_gradients"),
    ("loss", "drift_loss", "eager_drift_loss"),
)
# Each has more of the compiler than the one before
_BACKENDS = {"eager": 0, "dynamo_only": 1, "aot_eager": 2, "inductor": 3}
ACCURACY_NOT_JUDGED = ("no_reference", "not_judged")
"""The verdicts on accuracy of a job that passed without one."""
_ENVIRONMENT = {
    "torch": "PyTorch",
    "machine": "Machine",
    "libraries": "Libraries",
    "settings": "Settings",
}
_COMPILER_FACTS = {
    "counters": "Counters",
    "fingerprints": "Code fingerprints",
    "submodules": "Compile time by submodule, s",
}


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric of a job: as text with its 95% interval, from n samples (0: unknown)."""

    metric: Metric
    text: str
    interval: str
    n: int


@dataclass(frozen=True, slots=True)
class MetricGroup:
    title: str
    rows: list[MetricRow]


@dataclass(frozen=True, slots=True)
class Drift:
    """Distance of the compiled and of the eager result from the reference, and their ratio.

    is_too_far: for which the case failed.
    """

    what: str
    compiled: str
    eager: str
    ratio: str
    is_too_far: bool


@dataclass(frozen=True, slots=True)
class BackendOutcome:
    """Outcome of a case with one backend, which has less of the compiler than the next."""

    backend: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Ablation:
    """stage: of the compiler, to blame by the first backend that fails; empty: not known."""

    stage: str = ""
    outcomes: Sequence[BackendOutcome] = ()


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    rows: list[tuple[str, str]]


def metric_groups(document: Document) -> list[MetricGroup]:
    """All metrics in groups; one that no group names comes last under "Other"."""
    metrics = {**document.get("metrics", {})}
    device = str(document.get("job", {}).get("device", ""))
    if is_artefact("compression_ratio", device, document.get("benchmark", {}).get("size", "")):
        metrics.pop("compression_ratio", None)
    others = list(metrics)
    groups = []
    for title, keys in _GROUPS.items():
        present = [key for key in keys if key in metrics]
        others = [key for key in others if key not in present]
        groups.append(MetricGroup(title, [_metric_row(key, metrics[key]) for key in present]))
    groups.append(MetricGroup("Other", [_metric_row(key, metrics[key]) for key in others]))
    return [group for group in groups if group.rows]


def _metric_row(key: str, entry: Document) -> MetricRow:
    metric, low, high = metric_of(key), entry.get("low"), entry.get("high")
    text = quantity(metric, entry["value"], low, high)
    return MetricRow(metric, text, interval(metric, low, high), entry.get("n", 0))


def absent(document: Document) -> list[tuple[Metric, str]]:
    """Metrics that could not be measured, and why.

    Without `passed`: a document lacks it where accuracy was not judged, and the site has it of
    every job (store.datum_values).
    """
    reasons = document.get("absent", {}).items()
    return [(metric_of(key), why) for key, why in reasons if key != STATUS_METRIC]


def ablation(document: Document) -> Ablation:
    """The ablation of a case that failed; without outcomes where there was none.

    Results of earlier suites have a backend's status alone, without a message.
    """
    backends = dict(document.get("ablation") or {})
    stage = str(backends.pop("stage", ""))
    outcomes = []
    # Postgres keeps no order of keys; a backend that is not known comes last
    for backend in sorted(backends, key=lambda name: _BACKENDS.get(name, len(_BACKENDS))):
        ending = backends[backend]
        fields = ending if isinstance(ending, Mapping) else {"status": ending}
        status, message = str(fields.get("status", "")), str(fields.get("message", ""))
        outcomes.append(BackendOutcome(backend, status, message))
    return Ablation(stage, outcomes)


def has_no_judgement(document: Document) -> bool:
    """Test whether it was measured, and its accuracy not judged."""
    return document.get("accuracy", {}).get("status") in ACCURACY_NOT_JUDGED


def drifts(document: Document) -> list[Drift]:
    """Drift next to eager's own: what the compiler adds to what the dtype alone costs."""
    metrics = document.get("metrics", {})
    failures = ""
    if document.get("status") == "fail_accuracy":
        failures = str(document.get("message", ""))
    rows = []
    for what, compiled_key, eager_key in _DRIFTS:
        if compiled_key in metrics:
            compiled = metrics[compiled_key]["value"]
            eager = metrics.get(eager_key, {}).get("value")
            ratio = f"{number(compiled / eager)}×" if eager else "–"
            is_too_far = f"{what}: " in failures
            rows.append(Drift(what, number(compiled), number(eager), ratio, is_too_far))
    return rows


def distances(document: Document) -> list[Section]:
    """Every distance that was taken, by tensor."""
    tensors = document.get("accuracy", {}).get("tensors", {})
    return [Section(name, _flat(distance)) for name, distance in tensors.items()]


def environment(document: Document) -> list[Section]:
    """List what it ran on: torch, machine, libraries, settings."""
    facts = document.get("environment", {})
    sections = _sections(facts, _ENVIRONMENT)
    if "python" in facts and sections and sections[0].title == _ENVIRONMENT["torch"]:
        sections[0].rows.append(("python", str(facts["python"])))
    return sections


def start_details(document: Document) -> list[Section]:
    """List what was seen in each start, apart from its length."""
    details = document.get("starts", {})
    return [Section(name, _flat(details[name])) for name in _STARTS if name in details]


def frames_compiled(document: Document) -> str:
    """Count the compiled frames among those that dynamo met: "2 of 4"; empty if not known."""
    counters = document.get("compile", {}).get("counters", {})
    if not counters.get("frames.total"):
        return ""
    return f"{counters.get('frames.ok', 0):.0f} of {counters['frames.total']:.0f}"


def compiler_facts(document: Document) -> list[Section]:
    """Counters, code fingerprints and submodules, as the compiler reported them."""
    return _sections(document.get("compile", {}), _COMPILER_FACTS)


def _sections(facts: Document, titles: Mapping[str, str]) -> list[Section]:
    sections = [Section(title, _flat(facts.get(key, {}))) for key, title in titles.items()]
    return [section for section in sections if section.rows]


def _flat(values: Document, prefix: str = "") -> list[tuple[str, str]]:
    """Nested objects as (dotted name, text) rows; what is null says so."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
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
