"""Two sides, case by case: what got better, what got worse, and what could not be compared and why.
Pure.

A side is what was measured of one build (or track, or machine, or config). Cases are matched by
benchmark and config, under one version of the benchmark and model libraries of the same versions;
everything else is left out, with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, NamedTuple

from dashboard.comparisons.core.case_samples import CaseSamples, pool_samples
from dashboard.comparisons.core.failure_words import describe
from dashboard.comparisons.core.libraries import Libraries, agree, libraries_text, library_order
from dashboard.comparisons.core.metric_effects import (
    CHANGED,
    Effect,
    EffectVerdict,
    estimate_effects,
    interval_verdict,
)
from dashboard.language.metrics import EAGER, METRICS, Metric

ExclusionReason = Literal["missing", "failed", "benchmark", "libraries", "no value"]
ChangedPart = Literal["in eager too", "compiled only", "both", "not known", ""]

GPU_UTILIZATION = "gpu_utilization_percent"
# Steps that keep the GPU busy repeat within a few percent. Where it waits for the CPU, some
# processes differ by a half, and some cases not at all: docs/versions.md has the figures.
BUSY_GPU_PERCENT = 90
STEP_METRICS = frozenset(
    {
        "latency_ms",
        "latency_p90_ms",
        "latency_p99_ms",
        "throughput_per_s",
        "eager_latency_ms",
        "speedup",
    }
)


class Key(NamedTuple):
    """Which cases of the two sides belong together."""

    benchmark: str
    config: str


@dataclass(frozen=True, slots=True)
class ComparedCase:
    """A benchmark in a config, as tables show and group it. place: its place in the registry."""

    benchmark: str
    config: str
    model: str
    family: str
    mode: str
    place: tuple[int, int] = (0, 0)

    @property
    def key(self) -> Key:
        return Key(self.benchmark, self.config)


@dataclass(slots=True)
class CaseMeasurements:
    """What one side measured of one case.

    samples: by metric, those of each benchmark version and library set.
    failures: how many of its jobs ended in which failure. messages: of the newest of each.
    widest: by metric by how much processes of one build ever differed there, in logs; without those
        of which too few say it.
    """

    case: ComparedCase
    samples: dict[str, list[CaseSamples]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    widest: dict[str, float] = field(default_factory=dict)


Side = Mapping[Key, CaseMeasurements]


class MatchedCase(NamedTuple):
    """A case that both sides measured under the same benchmark version and libraries."""

    case: ComparedCase
    base: CaseSamples
    new: CaseSamples


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A matched case.

    eager: how the eager control in the same processes changed.
    compiled_only: what the compiler adds to it (the inverse of the speedup's change).
    speedup: how the speedup over that control changed.
    step_share: of a device time how much of the step it is, percent, where the step waits for the
        CPU as well; else None.
    """

    case: ComparedCase
    effect: Effect
    eager: Effect | None = None
    compiled_only: Effect | None = None
    speedup: Effect | None = None
    step_share: float | None = None

    @property
    def counts(self) -> bool:
        """Whether it has a part in the verdict: a step that waits for the CPU need not become
        slower with its device time.
        """
        return self.step_share is None

    @property
    def changed_part(self) -> ChangedPart:
        """Which of the two parts changed as the whole did; empty where the whole did not."""
        whole = self.effect.verdict
        if whole not in CHANGED or self.eager is None or self.compiled_only is None:
            return ""
        eager, compiled_only = _part_verdict(self.eager), _part_verdict(self.compiled_only)
        if eager == compiled_only == whole:
            return "both"
        if eager == whole:
            return "in eager too"
        return "compiled only" if compiled_only == whole else "not known"


def _part_verdict(part: Effect) -> EffectVerdict:
    return interval_verdict(part.ratio, part.metric) if part.ratio else "unknown"


@dataclass(frozen=True, slots=True)
class ExcludedCase:
    """A case that is not compared, and why."""

    case: ComparedCase
    why: ExclusionReason
    text: str

    @property
    def lacks_data(self) -> bool:
        """Whether more measuring would bring it; what fails on both sides, or has no such metric,
        no measuring brings.
        """
        return self.why not in {"failed", "no value"}


@dataclass(frozen=True, slots=True)
class Table:
    """One metric: the matched cases, the largest effect first, and the others."""

    metric: Metric
    rows: list[ComparisonRow]
    left_out: list[ExcludedCase]

    @property
    def significant(self) -> list[ComparisonRow]:
        return [row for row in self.rows if row.effect.is_significant]


def compare(
    base: Side,
    new: Side,
    metric: Metric,
    *,
    any_libraries: bool = False,
) -> Table:
    """Match the cases of two sides and judge one metric of each.

    any_libraries: also across library sets.
    """
    matched: list[MatchedCase] = []
    left_out: list[ExcludedCase] = []
    every = {**new, **base}
    for key in sorted(every, key=lambda key: every[key].case.place):
        result = _match(base.get(key), new.get(key), metric, any_libraries=any_libraries)
        if isinstance(result, ExcludedCase):
            left_out.append(result)
        else:
            matched.append(result)

    kinds = None
    if metric.key in STEP_METRICS:
        kinds = [_is_gpu_busy(each.case.key, base, new) for each in matched]
    pairs = [(each.base, each.new) for each in matched]
    effects = estimate_effects(pairs, metric, kinds)
    rows = [ComparisonRow(each.case, effect) for each, effect in zip(matched, effects, strict=True)]
    return Table(metric, sorted(rows, key=lambda row: -row.effect.size), left_out)


def pooled(side: Side, key: Key, metric: str) -> CaseSamples | None:
    """All that a side measured of a case in a metric; None where that is nothing."""
    samples = side[key].samples.get(metric) if key in side else None
    return pool_samples(samples) if samples else None


def _is_gpu_busy(key: Key, *sides: Side) -> bool | None:
    """Whether the case keeps the GPU busy; None where it was not measured."""
    utilization: list[CaseSamples] = []
    for side in sides:
        if key in side:
            utilization += side[key].samples.get(GPU_UTILIZATION, ())
    if not utilization:
        return None
    return pool_samples(utilization).mean >= BUSY_GPU_PERCENT


def compare_latency(base: Side, new: Side, *, any_libraries: bool = False) -> Table:
    """As `compare` for the latency, each compiled case with the part of its change that eager shows
    too.
    """
    table = compare(base, new, METRICS["latency_ms"], any_libraries=any_libraries)

    def effects(metric: str) -> dict[ComparedCase, Effect]:
        part = compare(base, new, METRICS[metric], any_libraries=any_libraries)
        return {row.case: row.effect for row in part.rows}

    controls, gains = effects("eager_latency_ms"), effects("speedup")
    rows = [_with_control(row, controls.get(row.case), gains.get(row.case)) for row in table.rows]
    return replace(table, rows=rows)


def _with_control(
    row: ComparisonRow, eager: Effect | None, speedup: Effect | None
) -> ComparisonRow:
    """latency = eager latency / speedup: in logs the two parts add up, and the speedup is paired
    within its process.
    """
    if row.case.config == EAGER or eager is None or speedup is None or speedup.ratio is None:
        return row
    compiled_only = Effect(
        speedup.new, speedup.base, METRICS["latency_ms"], speedup.ratio.inverse, "unknown"
    )
    return replace(row, eager=eager, compiled_only=compiled_only, speedup=speedup)


def _match(
    base: CaseMeasurements | None,
    new: CaseMeasurements | None,
    metric: Metric,
    *,
    any_libraries: bool,
) -> MatchedCase | ExcludedCase:
    """The samples of both sides that can be compared, or why there are none."""
    either = base or new
    assert either is not None  # the key came from one of them
    case = either.case
    olds, news = _samples(base, metric), _samples(new, metric)
    if not olds or not news:
        return _not_measured(case, base, new, metric)
    if len(olds) == len(news) == 1 and _is_same_software(olds[0], news[0]):
        return MatchedCase(case, olds[0], news[0])

    versions = {each.version for each in olds} & {each.version for each in news}
    if not versions:
        text = f"version {_versions(olds)} of the benchmark against {_versions(news)}"
        return ExcludedCase(case, "benchmark", text)
    newest = max(versions)
    olds, news = _of_version(olds, newest), _of_version(news, newest)

    if not any_libraries:
        libraries = _newest_shared(olds, news)
        if libraries is None:
            text = f"{_newest_libraries(olds)} against {_newest_libraries(news)}"
            return ExcludedCase(case, "libraries", text)
        olds, news = _under(olds, libraries), _under(news, libraries)
    return MatchedCase(case, pool_samples(olds), pool_samples(news))


def _samples(measured: CaseMeasurements | None, metric: Metric) -> list[CaseSamples]:
    return measured.samples.get(metric.key, []) if measured else []


def _is_same_software(old: CaseSamples, new: CaseSamples) -> bool:
    return old.version == new.version and old.libraries == new.libraries


def _of_version(samples: Sequence[CaseSamples], version: int) -> list[CaseSamples]:
    return [each for each in samples if each.version == version]


def _under(samples: Sequence[CaseSamples], libraries: Libraries) -> list[CaseSamples]:
    return [each for each in samples if agree(each.libraries, libraries)]


def _newest_shared(olds: Sequence[CaseSamples], news: Sequence[CaseSamples]) -> Libraries | None:
    """The newest library set that both sides have, each library of either named; None: there is
    none.
    """
    shared = []
    for old, new in product(olds, news):
        if agree(old.libraries, new.libraries):
            shared.append(tuple(sorted({*old.libraries, *new.libraries})))
    return max(shared, key=library_order, default=None)


def measured_with(side: Side, libraries: Libraries) -> dict[Key, CaseMeasurements]:
    """Of a side only what was measured under this set of model libraries."""
    kept_side: dict[Key, CaseMeasurements] = {}
    for key, measured in side.items():
        kept: dict[str, list[CaseSamples]] = {}
        for metric, samples in measured.samples.items():
            if same := [each for each in samples if each.libraries == libraries]:
                kept[metric] = same
        if kept:
            kept_side[key] = CaseMeasurements(measured.case, kept)
    return kept_side


def _not_measured(
    case: ComparedCase,
    base: CaseMeasurements | None,
    new: CaseMeasurements | None,
    metric: Metric,
) -> ExcludedCase:
    """Why one side, or both, lack the metric."""
    lacking, failed, missing = [], [], []
    for name, measured in (("base", base), ("new", new)):
        if _samples(measured, metric):
            continue
        lacking.append(name)
        if measured and measured.failures:
            failed.append(f"{describe(measured.failures, measured.messages)} on {name}")
        if not measured or not measured.samples:
            missing.append(name)
    if failed:
        return ExcludedCase(case, "failed", " and ".join(failed))
    if missing:
        return ExcludedCase(case, "missing", f"not measured on {' and '.join(missing)}")
    text = f"no {metric.label.lower()} on {' and '.join(lacking)}"
    return ExcludedCase(case, "no value", text)


def _versions(samples: Sequence[CaseSamples]) -> str:
    return ", ".join(map(str, sorted({each.version for each in samples})))


def _newest_libraries(samples: Sequence[CaseSamples]) -> str:
    return libraries_text(max((each.libraries for each in samples), key=library_order))
