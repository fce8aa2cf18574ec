"""Data that advice reads: where a benchmark was measured, and each config's costs there."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.case_samples import pool_samples
from dashboard.comparisons.core.matching import CaseMeasurements
from dashboard.comparisons.core.running_costs import COST_METRICS, Option
from dashboard.comparisons.selectors.versions import SideSource, by_build
from dashboard.language.metrics import CHECK_CONFIGS, EAGER
from dashboard.models import Benchmark, BuildLevel, TorchBuild
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
    machine: int, builds: Sequence[int], benchmark: Benchmark
) -> dict[int, list[Option]]:
    """The configs that each of these builds measured, in registry order. Four queries."""
    by_id = by_build(SideSource(machine, benchmark=benchmark.pk), builds, COST_METRICS)
    options = {}
    for build, cases in by_id.items():
        in_order = sorted(cases.values(), key=lambda measured: measured.case.place)
        options[build] = _options(in_order)
    return options


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
