"""Two sides, case by case: what got better, what got worse, and what could not be compared and why.
Pure.

A side is what was measured of one build (or track, or machine, or config). Cases are matched by
benchmark and config, under one version of the benchmark and model libraries of the same versions;
everything else is left out, with the reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from dashboard.comparisons.core.device_effects import between_devices, summed
from dashboard.comparisons.core.metric_effects import (
    CHANGED,
    CaseSamples,
    Effect,
    Libraries,
    judge_all,
    judged,
    pooled,
)
from dashboard.language.metrics import EAGER, METRICS, Metric

Why = Literal["missing", "failed", "benchmark", "libraries", "no value"]
Share = Literal["in eager too", "compiled only", "both", "not known", ""]

BUSY = "gpu_utilization_percent"
# Steps that keep the GPU busy repeat within a few percent. Where it waits for the CPU, some
# processes differ by a half, and some cases not at all: docs/versions.md has the figures.
BUSY_PERCENT = 90
STEPS = frozenset(
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


@dataclass(slots=True)
class CaseMeasurements:
    """What one side measured of one case: parts by metric, and how many of its jobs ended in which
    failure.
    """

    case: ComparedCase
    parts: dict[str, list[CaseSamples]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)


Side = Mapping[Key, CaseMeasurements]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A matched case. eager: how the eager control in the same processes changed; alone: what the
    compiler adds to it (the inverse of the speedup's change); share: which of the two it was.
    """

    case: ComparedCase
    effect: Effect
    eager: Effect | None = None
    alone: Effect | None = None
    share: Share = ""


@dataclass(frozen=True, slots=True)
class ExcludedCase:
    """A case that is not compared, and why."""

    case: ComparedCase
    why: Why
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """One metric: the matched cases, the largest effect first, and the others."""

    metric: Metric
    rows: list[ComparisonRow]
    left_out: list[ExcludedCase]


def compare(
    base: Side,
    new: Side,
    metric: Metric,
    *,
    any_libraries: bool = False,
    devices: float | None = None,
) -> Table:
    """Match the cases of two sides and judge one metric of each. any_libraries: also across library
    sets. devices: by how much devices differ (blocks.py), where these cases are not to tell it.
    """
    pairs: list[tuple[ComparedCase, CaseSamples, CaseSamples]] = []
    left_out = []
    for key in sorted({*base, *new}, key=lambda key: (base.get(key) or new[key]).case.place):
        found = _match(base.get(key), new.get(key), metric, any_libraries=any_libraries)
        if isinstance(found, ExcludedCase):
            left_out.append(found)
        else:
            pairs.append(found)
    kinds = [_is_busy(case, base, new) for case, *_ in pairs] if metric.key in STEPS else None
    effects = judge_all([(old, fresh) for _, old, fresh in pairs], metric, kinds, devices)
    rows = [
        ComparisonRow(case, effect) for (case, _, _), effect in zip(pairs, effects, strict=True)
    ]
    return Table(metric, sorted(rows, key=lambda row: -row.effect.size), left_out)


def _is_busy(case: ComparedCase, *sides: Side) -> bool | None:
    """Whether the case keeps the GPU busy; None where nothing tells it."""
    key = Key(case.benchmark, case.config)
    parts = [part for side in sides if key in side for part in side[key].parts.get(BUSY, ())]
    return pooled(parts).mean >= BUSY_PERCENT if parts else None


def compare_latency(base: Side, new: Side, *, any_libraries: bool = False) -> Table:
    """As `compare` for the latency, each compiled case with the part of its change that eager shows
    too.

    Eager and speedup are weighed over devices as the latency is: only so its two parts add up to
    it.
    """
    table = compare(base, new, METRICS["latency_ms"], any_libraries=any_libraries)
    devices = _between_devices(table)
    eager, speedup = (
        compare(base, new, METRICS[key], any_libraries=any_libraries, devices=devices)
        for key in ("eager_latency_ms", "speedup")
    )
    controls = {row.case: row.effect for row in eager.rows}
    gains = {row.case: row.effect for row in speedup.rows}
    rows = [_with_control(row, controls.get(row.case), gains.get(row.case)) for row in table.rows]
    return replace(table, rows=rows)


def _between_devices(table: Table) -> float:
    sides = [(row.effect.base.level, row.effect.new.level) for row in table.rows]
    known = [(old.blocks, fresh.blocks) for old, fresh in sides if old and fresh]
    return (
        between_devices(summed([old for old, _ in known], [fresh for _, fresh in known]))
        if known
        else 0.0
    )


def _with_control(
    row: ComparisonRow, eager: Effect | None, speedup: Effect | None
) -> ComparisonRow:
    """latency = eager latency / speedup: in logs the two parts add up, and the speedup is paired
    within its process.
    """
    if row.case.config == EAGER or eager is None or speedup is None or speedup.ratio is None:
        return row
    alone = judged(
        speedup.new, speedup.base, speedup.ratio.inverse, speedup.q, METRICS["latency_ms"]
    )
    return replace(row, eager=eager, alone=alone, share=_share(row.effect, eager, alone))


def _share(whole: Effect, eager: Effect, alone: Effect) -> Share:
    """Which part moved as the whole did; empty where the whole did not change."""
    if whole.verdict not in CHANGED:
        return ""
    if eager.verdict == alone.verdict == whole.verdict:
        return "both"
    if eager.verdict == whole.verdict:
        return "in eager too"
    return "compiled only" if alone.verdict == whole.verdict else "not known"


def _match(
    base: CaseMeasurements | None,
    new: CaseMeasurements | None,
    metric: Metric,
    *,
    any_libraries: bool,
) -> tuple[ComparedCase, CaseSamples, CaseSamples] | ExcludedCase:
    """The parts of both sides that can be compared, or why there are none."""
    either = base or new
    assert either is not None  # the key came from one of them
    case, olds, news = either.case, _parts(base, metric), _parts(new, metric)
    if not olds or not news:
        return _absent(case, base, new, metric, is_base=not olds, is_new=not news)
    if len(olds) == len(news) == 1 and _is_same(olds[0], news[0]):
        return case, olds[0], news[0]
    versions = {part.version for part in olds} & {part.version for part in news}
    if not versions:
        return ExcludedCase(
            case,
            "benchmark",
            f"version {_versions(olds)} of the benchmark against {_versions(news)}",
        )
    version = max(versions)
    olds, news = ([part for part in parts if part.version == version] for parts in (olds, news))
    if any_libraries:
        return case, pooled(olds), pooled(news)
    shared = [
        _union(old.libraries, new.libraries)
        for old in olds
        for new in news
        if _agree(old.libraries, new.libraries)
    ]
    if not shared:
        return ExcludedCase(case, "libraries", f"{_newest(olds)} against {_newest(news)}")
    libraries = max(shared, key=library_order)
    olds, news = (
        [part for part in parts if _agree(part.libraries, libraries)] for parts in (olds, news)
    )
    return case, pooled(olds), pooled(news)


def _agree(one: Libraries, other: Libraries) -> bool:
    """Whether no library has two versions. One that is not there at all was not needed: the case
    has passed.
    """
    known = dict(other)
    return all(known.get(name, version) == version for name, version in one)


def _union(one: Libraries, other: Libraries) -> Libraries:
    return tuple(sorted({*one, *other}))


def under(side: Side, libraries: Libraries) -> dict[Key, CaseMeasurements]:
    """Of a side only what was measured under this set of model libraries."""
    found = {}
    for key, one in side.items():
        kept = {
            metric: [part for part in parts if part.libraries == libraries]
            for metric, parts in one.parts.items()
        }
        if any(kept.values()):
            found[key] = CaseMeasurements(
                one.case, {metric: parts for metric, parts in kept.items() if parts}
            )
    return found


def _is_same(old: CaseSamples, new: CaseSamples) -> bool:
    return old.version == new.version and old.libraries == new.libraries


def _parts(measured: CaseMeasurements | None, metric: Metric) -> list[CaseSamples]:
    return measured.parts.get(metric.key, []) if measured else []


def _absent(
    case: ComparedCase,
    base: CaseMeasurements | None,
    new: CaseMeasurements | None,
    metric: Metric,
    *,
    is_base: bool,
    is_new: bool,
) -> ExcludedCase:
    lacking = [
        (side, measured)
        for side, measured, lacks in (("base", base, is_base), ("new", new, is_new))
        if lacks
    ]
    failed = [
        f"{_failures(measured)} on {side}"
        for side, measured in lacking
        if measured and measured.failures
    ]
    if failed:
        return ExcludedCase(case, "failed", " and ".join(failed))
    missing = [side for side, measured in lacking if not measured or not measured.parts]
    if missing:
        return ExcludedCase(case, "missing", f"not measured on {' and '.join(missing)}")
    return ExcludedCase(
        case,
        "no value",
        f"no {metric.label.lower()} on {' and '.join(side for side, _ in lacking)}",
    )


def _failures(measured: CaseMeasurements) -> str:
    return ", ".join(sorted(measured.failures))


def _versions(parts: Iterable[CaseSamples]) -> str:
    return ", ".join(str(version) for version in sorted({part.version for part in parts}))


def _newest(parts: Iterable[CaseSamples]) -> str:
    return libraries_text(max((part.libraries for part in parts), key=library_order))


def libraries_text(libraries: Libraries) -> str:
    return ", ".join(f"{name} {version}" for name, version in libraries) or "no model libraries"


def library_order(libraries: Libraries) -> list[tuple[str, list[int]]]:
    """Sorts sets by their versions, newest last."""
    return [
        (name, [int(digits) for digits in version.split(".") if digits.isdigit()])
        for name, version in libraries
    ]
