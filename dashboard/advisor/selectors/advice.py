"""Data that the advisor reads: where a benchmark was measured, and each config's costs there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.case_samples import pool_samples
from dashboard.comparisons.core.matching import CaseMeasurements
from dashboard.comparisons.core.running_costs import COST_METRICS, Option
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.language.metrics import CHECK_CONFIGS, EAGER
from dashboard.models import Benchmark, BuildLevel, Config, Environment, Result, TorchBuild
from dashboard.results.core.kernel_profile import arm_profiles
from dashboard.results.core.known_changes import KnownCost, costs_in_kernels
from dashboard.results.selectors.rollup import opening_machine

NO_CHOICE = (EAGER, *CHECK_CONFIGS)  # what alone leaves nothing to advise


@dataclass(frozen=True, slots=True)
class AdvisedBuild:
    """A build that has numbers of a benchmark on a machine.

    compiled: how many configs other than eager and checks. hidden: whether the machine is.
    """

    machine: int
    machine_key: str
    build: int
    label: str
    base: int | None
    version: str
    compiled: int
    hidden: bool


def advised_builds(benchmark: Benchmark | None = None) -> list[AdvisedBuild]:
    """List the builds on which ``benchmark`` (None: any) has a step time. Two queries.

    Machines by name, the newest version of each first, a plain build before its variants.
    """
    levels = BuildLevel.objects.filter(series__metric="latency_ms")
    if benchmark:
        levels = levels.filter(series__benchmark=benchmark)
    machine = ("series__machine", "series__machine__key", "series__machine__hidden")
    places = levels.values_list(*machine, "build")
    compiled = Count("series__config", filter=~Q(series__config__name__in=NO_CHOICE), distinct=True)

    torch_builds = TorchBuild.objects.in_bulk()
    builds = []
    for machine_id, key, hidden, pk, configs in places.annotate(compiled=compiled).order_by():
        build = torch_builds[pk]
        builds.append(
            AdvisedBuild(
                machine=machine_id,
                machine_key=key,
                build=pk,
                label=build.label,
                base=build.base_id,
                version=build.version,
                compiled=configs,
                hidden=hidden,
            )
        )
    builds.sort(
        key=lambda build: (version_order(build.version), build.base is None, build.build),
        reverse=True,
    )
    return sorted(builds, key=lambda build: build.machine_key)


def choose_build(builds: Sequence[AdvisedBuild], machine: str, label: str) -> AdvisedBuild | None:
    """The build of that machine and label, else the newest of that machine that was compiled.

    Without a machine: of the one that home begins with, if it has any to advise on. None
    where the machine has no build. One query at most.
    """
    if not machine:
        compiled = {build.machine_key for build in builds if build.compiled}
        machine = opening_machine(compiled or {build.machine_key for build in builds})
    candidates = [build for build in builds if build.machine_key == machine]
    for build in candidates:
        if build.label == label:
            return build
    to_advise_on = [build for build in candidates if build.compiled]
    return next(iter(to_advise_on or candidates), None)


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
    failed = ""
    if measured.failures and not levels:
        failed = f"it ended in {', '.join(sorted(measured.failures))}"
    elif not levels:
        failed = "only an older version of the benchmark was measured with it"
    return Option(measured.case.config, measured.case.place[1], levels, failed)


def measured_configs(machine: int, benchmark: Benchmark) -> list[str]:
    """The configs other than checks that any build was measured with there, in registry order. One
    query.
    """
    configs = Config.objects.filter(
        series__machine=machine,
        series__benchmark=benchmark,
        series__metric="latency_ms",
        series__newest_value__isnull=False,
        retired=False,
    )
    chosen = configs.exclude(name__in=CHECK_CONFIGS).distinct()
    return list(chosen.values_list("name", flat=True))


def newest_jobs(build: AdvisedBuild, benchmark: Benchmark) -> dict[str, str]:
    """The newest job of each config there, which shows how its numbers came about. Four queries."""
    source = SideSource(build.machine, benchmark=benchmark.pk)
    cases = by_build(source, [build.build], ["latency_ms"])[build.build]
    jobs = {}
    for key, measured in cases.items():
        if "latency_ms" in measured.samples:
            jobs[key.config] = measured.samples["latency_ms"][-1].job
    return jobs


def known_costs(jobs: Mapping[str, str]) -> dict[str, list[KnownCost]]:
    """By config what the kernels of its newest job show that a compiled step pays. One query."""
    results = Result.objects.filter(job__in=[UUID(job) for job in jobs.values()])
    documents = results.values_list("job", "document")
    profiles = {str(job): arm_profiles(document).get("compiled") for job, document in documents}
    costs = {}
    for config, job in jobs.items():
        profile = profiles.get(job)
        shown = costs_in_kernels(profile) if profile else []
        if shown:
            costs[config] = shown
    return costs


def device_memory_gb(machine: int) -> float | None:
    """Memory of the machine's device: a GPU's own, else the computer's. One query.

    None where no result reported it.
    """
    environments = Environment.objects.filter(results__job__run__machine=machine)
    facts = environments.order_by("-pk").values_list("document__machine", flat=True).first() or {}
    return facts.get("gpu_memory_gb") or facts.get("memory_gb")
