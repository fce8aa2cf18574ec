"""What the advisor reads: on which machines and builds a benchmark was measured, and what each
config costs there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.matching import CaseMeasurements, Key
from dashboard.comparisons.core.metric_effects import CaseSamples, pool_samples
from dashboard.comparisons.core.running_costs import COST_METRICS, Option
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.models import Benchmark, BuildLevel, Environment, TorchBuild


@dataclass(frozen=True, slots=True)
class Built:
    """A build that has numbers of a benchmark on a machine."""

    machine: int
    machine_key: str
    build: int
    label: str
    base: int | None
    version: str


def built(benchmark: Benchmark | None = None) -> list[Built]:
    """Where ``benchmark`` (None: any) has a step time: machines by name, the newest version of each
    first, a plain build before its variants. Two queries.
    """
    found = BuildLevel.objects.filter(series__metric="latency_ms")
    if benchmark:
        found = found.filter(series__benchmark=benchmark)
    names = TorchBuild.objects.in_bulk()
    rows = found.values_list("series__machine", "series__machine__key", "build").distinct()
    known = [
        Built(machine, key, build, names[build].label, names[build].base_id, names[build].version)
        for machine, key, build in rows
    ]
    newest_first = sorted(
        known,
        key=lambda one: (version_order(one.version), one.base is None, one.build),
        reverse=True,
    )
    return sorted(newest_first, key=lambda one: one.machine_key)


def options(where: Built, benchmark: Benchmark | None = None) -> dict[str, list[Option]]:
    """The configs that were measured there, by benchmark, both in registry order. Four queries."""
    source = SideSource(where.machine, benchmark=benchmark.pk if benchmark else None)
    cases = by_build(source, [where.build], COST_METRICS)[where.build]
    ordered = sorted(cases.values(), key=lambda one: one.case.place)
    names = dict.fromkeys(one.case.benchmark for one in ordered)
    return {
        name: _options([one for one in ordered if one.case.benchmark == name]) for name in names
    }


def _options(measured: Sequence[CaseMeasurements]) -> list[Option]:
    """Under the newest version of the benchmark alone: what an older one measured was another
    work.
    """
    version = max((part.version for part in _parts(measured)), default=0)
    return [_option(one, version) for one in measured]


def _parts(measured: Iterable[CaseMeasurements]) -> list[CaseSamples]:
    return [part for one in measured for parts in one.samples.values() for part in parts]


def _option(one: CaseMeasurements, version: int) -> Option:
    counted = {
        key: [part for part in parts if part.version == version]
        for key, parts in one.samples.items()
    }
    levels = {
        key: level
        for key, parts in counted.items()
        if parts and (level := pool_samples(parts).level)
    }
    failed = "" if levels else _why(one)
    return Option(one.case.config, one.case.place[1], levels, failed)


def _why(one: CaseMeasurements) -> str:
    if one.failures:
        return f"it ended in {', '.join(sorted(one.failures))}"
    return "only an older version of the benchmark was measured with it"


def newest_jobs(where: Built, benchmark: Benchmark) -> Mapping[Key, str]:
    """The newest job of each config there, which shows how its numbers came about. Four queries."""
    cases = by_build(
        SideSource(where.machine, benchmark=benchmark.pk), [where.build], ["latency_ms"]
    )[where.build]
    return {
        key: one.samples["latency_ms"][-1].job
        for key, one in cases.items()
        if "latency_ms" in one.samples
    }


def device_memory_gb(machine: int) -> float | None:
    """Memory of the machine's device (a GPU's own, else the computer's); None where no result told
    it. One query.
    """
    found = Environment.objects.filter(results__job__run__machine=machine).order_by("-pk")
    facts = found.values_list("document__machine", flat=True).first() or {}
    return facts.get("gpu_memory_gb") or facts.get("memory_gb")
