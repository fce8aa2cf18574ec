"""What the advisor reads: where a benchmark was measured, and what each config costs there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.matching import CaseMeasurements
from dashboard.comparisons.core.metric_effects import pool_samples
from dashboard.comparisons.core.running_costs import COST_METRICS, Option
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.models import Benchmark, BuildLevel, Environment, TorchBuild


@dataclass(frozen=True, slots=True)
class AdvisedBuild:
    """A build that has numbers of a benchmark on a machine."""

    machine: int
    machine_key: str
    build: int
    label: str
    base: int | None
    version: str


def advised_builds(benchmark: Benchmark | None = None) -> list[AdvisedBuild]:
    """Where ``benchmark`` (None: any) has a step time. Two queries.

    Machines by name, the newest version of each first, a plain build before its variants.
    """
    levels = BuildLevel.objects.filter(series__metric="latency_ms")
    if benchmark:
        levels = levels.filter(series__benchmark=benchmark)
    rows = levels.values_list("series__machine", "series__machine__key", "build").distinct()

    torch_builds = TorchBuild.objects.in_bulk()
    builds = []
    for machine, key, pk in rows:
        build = torch_builds[pk]
        builds.append(AdvisedBuild(machine, key, pk, build.label, build.base_id, build.version))
    builds.sort(
        key=lambda build: (version_order(build.version), build.base is None, build.build),
        reverse=True,
    )
    return sorted(builds, key=lambda build: build.machine_key)


def choose_build(builds: Sequence[AdvisedBuild], machine: str, label: str) -> AdvisedBuild | None:
    """The build of that machine and label, else the newest of that machine.

    Without a machine: of the one with the most builds. None where the machine has no build.
    """
    if not machine:
        counts = Counter(build.machine_key for build in builds)
        machine = counts.most_common(1)[0][0]
    candidates = [build for build in builds if build.machine_key == machine]
    for build in candidates:
        if build.label == label:
            return build
    return candidates[0] if candidates else None


def read_options(
    build: AdvisedBuild, benchmark: Benchmark | None = None
) -> dict[str, list[Option]]:
    """The configs that were measured there, by benchmark, both in registry order. Four queries."""
    source = SideSource(build.machine, benchmark=benchmark.pk if benchmark else None)
    cases = by_build(source, [build.build], COST_METRICS)[build.build]
    by_benchmark: dict[str, list[CaseMeasurements]] = {}
    for measured in sorted(cases.values(), key=lambda measured: measured.case.place):
        by_benchmark.setdefault(measured.case.benchmark, []).append(measured)
    return {name: _options(measured) for name, measured in by_benchmark.items()}


def _options(cases: Sequence[CaseMeasurements]) -> list[Option]:
    """Under the newest version of the benchmark alone: an older one did another work."""
    newest = 0
    for measured in cases:
        for parts in measured.samples.values():
            newest = max([newest, *(part.version for part in parts)])
    return [_option(measured, newest) for measured in cases]


def _option(measured: CaseMeasurements, version: int) -> Option:
    levels = {}
    for metric, parts in measured.samples.items():
        counted = [part for part in parts if part.version == version]
        if counted and (level := pool_samples(counted).level):
            levels[metric] = level
    failed = "" if levels else _why_unusable(measured)
    return Option(measured.case.config, measured.case.place[1], levels, failed)


def _why_unusable(measured: CaseMeasurements) -> str:
    if measured.failures:
        return f"it ended in {', '.join(sorted(measured.failures))}"
    return "only an older version of the benchmark was measured with it"


def newest_jobs(build: AdvisedBuild, benchmark: Benchmark) -> dict[str, str]:
    """The newest job of each config there, which shows how its numbers came about. Four queries."""
    source = SideSource(build.machine, benchmark=benchmark.pk)
    cases = by_build(source, [build.build], ["latency_ms"])[build.build]
    jobs = {}
    for key, measured in cases.items():
        if "latency_ms" in measured.samples:
            jobs[key.config] = measured.samples["latency_ms"][-1].job
    return jobs


def device_memory_gb(machine: int) -> float | None:
    """Memory of the machine's device: a GPU's own, else the computer's. One query.

    None where no result reported it.
    """
    environments = Environment.objects.filter(results__job__run__machine=machine)
    facts = environments.order_by("-pk").values_list("document__machine", flat=True).first() or {}
    return facts.get("gpu_memory_gb") or facts.get("memory_gb")
