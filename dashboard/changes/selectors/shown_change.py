"""A change as its page shows it, whatever it is of: an alert, a case of two builds, or two jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.alerts.selectors.evidence_jobs import Side
from dashboard.alerts.selectors.report_files import profiled_jobs
from dashboard.catalog.core.versions import short_label
from dashboard.changes.core import headline, waterfall
from dashboard.changes.core.headline import Headline
from dashboard.changes.core.waterfall import Part, Waterfall
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange
from dashboard.models import AlertGroup, Datum
from dashboard.results.core.kernel_profile import EXPLAINED_METRICS
from dashboard.results.selectors import kernels as kernels_read
from dashboard.results.selectors.kernels import KernelComparison

_STEP_TIMES = {"latency_ms", "device_ms", "eager_latency_ms", "eager_device_ms"}
PHASES = {
    "compile_dynamo_s": "Dynamo",
    "compile_aot_s": "AOTAutograd",
    "compile_inductor_s": "Inductor",
    "compile_triton_s": "Triton",
}


@dataclass(frozen=True, slots=True)
class Tile:
    """A metric of the same case. key: in the address of its change; empty of the one shown."""

    metric: Metric
    levels: tuple[float, float] | None
    size: ValueChange | None
    key: str


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a change: a metric of a case on a machine, from one build to another.

    title: the model and its mode. sides: base and new, with the jobs that explain it, those that
    stand for it first. levels: before and after; None where they are not known.
    """

    title: str
    benchmark: str
    config: str
    metric: Metric
    machine: str
    sides: tuple[Side, Side]
    levels: tuple[float, float] | None
    is_imported: bool = False

    @property
    def names(self) -> tuple[str, str]:
        """Name the builds: without their flavours, where these do not matter."""
        base, new = (short_label(side.label) for side in self.sides)
        return (base, new) if base != new else (self.sides[0].label, self.sides[1].label)


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change and what draws it. kernels: None where they were not recorded, or explain nothing.

    unit: the metric in whose unit the waterfall is. details: what the tabs of its kind need.
    """

    subject: Subject
    headline: Headline
    kernels: KernelComparison | None
    waterfall: Waterfall | None
    unit: Metric
    tiles: Sequence[Tile] = ()
    group: AlertGroup | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def explain(subject: Subject) -> tuple[KernelComparison | None, Waterfall | None, Metric]:
    """The kernels of both sides, the waterfall and its unit. Four queries at most."""
    kernels = kernels_of(subject) if subject.metric.key in EXPLAINED_METRICS else None
    base, new = subject.sides
    if kernels:
        diff = kernels.tables[0].diff
        levels = diff.base.total_ms, diff.new.total_ms
        is_on_gpu = diff.base.device != "cpu"
        if subject.levels and is_on_gpu and subject.metric.key in _STEP_TIMES:
            levels = subject.levels
        parts = waterfall.kernel_parts(diff)
        unit = METRICS["device_ms"]
    elif subject.levels:
        levels, unit = subject.levels, subject.metric
        parts = start_parts(base, new) if unit.key == "cold_start_s" else []
    else:
        return None, None, subject.metric
    names = subject.names
    ends = Part(names[0], levels[0]), Part(names[1], levels[1])
    return kernels, waterfall.waterfall(*ends, parts), unit


def kernels_of(subject: Subject) -> KernelComparison | None:
    """The kernels of the first job with a profile on either side. Three queries.

    Of a change of eager, the table of eager comes first.
    """
    jobs = profiled_jobs(subject.sides)
    comparison = kernels_read.of_jobs(*jobs) if len(jobs) == len(subject.sides) else None
    if comparison and subject.metric.key.startswith("eager"):
        comparison.tables.sort(key=lambda table: table.diff.arm != "eager")
    return comparison


def start_parts(base: Side, new: Side) -> list[Part]:
    """List by how much each phase of the cold start changed, the longer first. One query."""
    before, after = phase_means(base, new)
    parts = []
    for key, name in PHASES.items():
        if key in before and key in after:
            parts.append(Part(name, after[key] - before[key]))
    return sorted(parts, key=lambda part: -part.amount)


def phase_means(base: Side, new: Side) -> tuple[dict[str, float], dict[str, float]]:
    """Means of the cold start and of its phases over the jobs of either side. One query."""
    side_of = {job.pk: side.name for side in (new, base) for job in side.jobs}
    data = Datum.objects.filter(job__in=side_of, series__metric__in=[*PHASES, "cold_start_s"])
    values: dict[tuple[str, str], list[float]] = {}
    for job, metric, value in data.values_list("job_id", "series__metric", "value"):
        if value is not None:
            values.setdefault((side_of[job], metric), []).append(value)
    means: dict[str, dict[str, float]] = {base.name: {}, new.name: {}}
    for (side, metric), measured in values.items():
        means[side][metric] = sum(measured) / len(measured)
    return means[base.name], means[new.name]


def clause(subject: Subject, kernels: KernelComparison | None, drawn: Waterfall | None) -> str:
    """The cause in a few words: a known change, or the part that makes most of the difference."""
    clauses = [change.clause for change in kernels.known_changes] if kernels else []
    steps = [step for step in drawn.steps if not step.is_level] if drawn else []
    largest = max(steps, key=lambda step: abs(step.amount), default=None)
    if not largest or not subject.levels or largest.name in (waterfall.REST, waterfall.ALL):
        return headline.cause_of(clauses, 0.0, "")
    difference = sum(step.amount for step in steps)
    return headline.cause_of(clauses, largest.amount / (difference or 1.0), largest.name)
