"""Two sides, case by case: which can be compared, and why the others cannot. Pure.

A side is what was measured of one build (or track, or machine, or config). Cases are matched by
benchmark and config, under one version of the benchmark and model libraries of the same versions;
everything else is left out, with the reason.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, NamedTuple

from dashboard.comparisons.core.case_samples import CaseSamples, pool_samples
from dashboard.comparisons.core.failure_words import describe
from dashboard.comparisons.core.libraries import Libraries, agree, libraries_text, library_order
from dashboard.language.metrics import Metric

ExclusionReason = Literal["missing", "failed", "benchmark", "libraries", "no value"]

DEVICE_SHARE = "device_share_percent"
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
    """Key by which cases of the two sides are matched."""

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
    """Measurements of one case on one side.

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

    def newest(self, metric: str) -> CaseSamples | None:
        """All samples of the newest benchmark version; None where there are none."""
        parts = self.samples.get(metric, [])
        newest = max((part.version for part in parts), default=0)
        return pool_samples([part for part in parts if part.version == newest]) if parts else None


Side = Mapping[Key, CaseMeasurements]


@dataclass(frozen=True, slots=True)
class MatchedCase:
    """A case that both sides measured under the same benchmark version and libraries.

    is_gpu_busy: whether it keeps the GPU busy; None where that is not known, or says nothing of how
        the metric scatters.
    widest: by how much processes of one build ever differed, in logs.
    step_share: of a device time how much of the step it is, percent, where the step waits for the
        CPU as well, which need not become slower with it; else None.
    """

    case: ComparedCase
    base: CaseSamples
    new: CaseSamples
    is_gpu_busy: bool | None = None
    widest: float = math.inf
    step_share: float | None = None


@dataclass(frozen=True, slots=True)
class ExcludedCase:
    """A case that is not compared, and why."""

    case: ComparedCase
    why: ExclusionReason
    text: str

    @property
    def lacks_data(self) -> bool:
        """True if more measuring would bring it; none does for what fails on both sides, or has no
        such metric.
        """
        return self.why not in {"failed", "no value"}


@dataclass(frozen=True, slots=True)
class Matches:
    """One metric of two sides: the cases to compare, and the others."""

    metric: Metric
    cases: list[MatchedCase]
    left_out: list[ExcludedCase]


def match_cases(base: Side, new: Side, metric: Metric, *, any_libraries: bool = False) -> Matches:
    """Match the cases of two sides, in their order.

    any_libraries: also across library sets.
    """
    matches = Matches(metric, [], [])
    every = {**new, **base}
    for key in sorted(every, key=lambda key: every[key].case.place):
        result = _match(base.get(key), new.get(key), metric, any_libraries=any_libraries)
        if isinstance(result, ExcludedCase):
            matches.left_out.append(result)
            continue
        is_busy, share = None, None
        if metric.key in STEP_METRICS:
            is_busy = _is_gpu_busy(key, base, new)
        elif metric.key == "device_ms":
            share = _step_share(key, base, new)
        widest = max(side[key].widest.get(metric.key, math.inf) for side in (base, new))
        matches.cases.append(replace(result, is_gpu_busy=is_busy, widest=widest, step_share=share))
    return matches


def pooled(side: Side, key: Key, metric: str) -> CaseSamples | None:
    """All that a side measured of a case in a metric; None where that is nothing."""
    samples = side[key].samples.get(metric) if key in side else None
    return pool_samples(samples) if samples else None


def _is_gpu_busy(key: Key, *sides: Side) -> bool | None:
    """Test whether the case keeps the GPU busy; None where it was not measured."""
    utilization: list[CaseSamples] = []
    for side in sides:
        if key in side:
            utilization += side[key].samples.get(GPU_UTILIZATION, ())
    if not utilization:
        return None
    return pool_samples(utilization).mean >= BUSY_GPU_PERCENT


def _step_share(key: Key, *sides: Side) -> float | None:
    """Return the percent of the step that the GPU worked, on the side where it was less; None where
    the GPU was busy, or the share is not known of both sides.
    """
    shares = [pooled(side, key, DEVICE_SHARE) for side in sides]
    measured = [share.mean for share in shares if share is not None]
    if len(measured) < len(sides) or min(measured) >= BUSY_GPU_PERCENT:
        return None
    return min(measured)


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
    """Keep only what a side measured under this set of model libraries."""
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
    """Explain why one side, or both, lack the metric."""
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
