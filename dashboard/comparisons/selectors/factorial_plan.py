"""What a factorial would measure: its arms, what is impossible and why, and what that costs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.catalog.core.pins import ALWAYS, PinError, shared_set
from dashboard.catalog.core.plan import Budget, Case, PlanError, budget
from dashboard.catalog.core.versions import flavour_of, public_version
from dashboard.catalog.selectors.lookups import find_machine, find_named, named_build
from dashboard.comparisons.core.factorial_arms import (
    factors_of,
    fewest_processes,
    levels_at,
    library_levels,
    refused_library,
)
from dashboard.comparisons.core.factorial_design import (
    CUDA,
    TORCH,
    UNVARIED,
    VARIANT,
    Cell,
    Estimable,
    Factor,
    all_cells,
    estimable_effects,
)
from dashboard.comparisons.core.factorial_words import cell_text
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors.measured_builds import MeasuredBuild
from dashboard.models import Benchmark, Config, InstalledEnvironment, Machine, TorchBuild
from dashboard.runs.selectors.offers import installable_builds

_CUDA_VERSION = re.compile(r"(\d+)\.(\d+)")


class ImpossibleArm(Exception):
    """A combination that cannot be measured; the text says why."""


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """A combination that can be measured: on which build, with which libraries."""

    cell: Cell
    build: TorchBuild
    libraries: dict[str, str]


@dataclass(frozen=True, slots=True)
class ExcludedArm:
    """A combination that cannot be measured."""

    cell: Cell
    why: str


@dataclass(frozen=True, slots=True)
class FactorialPlan:
    """What would be measured.

    estimable: what these arms can show. fewest: of all effects, the processes of the side that has
        fewest. to_install: environments that no worker of the machine has yet.
    """

    machine: Machine
    benchmark: Benchmark
    config: Config
    repeats: int
    factors: list[Factor]
    arms: list[PlannedArm]
    excluded: list[ExcludedArm]
    estimable: Estimable
    fewest: int
    cost: Budget
    to_install: int


def plan_factorial(
    *,
    machine: str,
    benchmark: str,
    config: str,
    levels: Mapping[str, Sequence[str]],
    repeats: int,
) -> FactorialPlan:
    """The arms of these levels, each level crossed with each other.

    levels: of torch (versions or labels), cuda (cu128), a library (versions), variant (the part of
        a label after the ~; "none": without); a name with one level is the same in all arms.
        Raises PlanError: unknown names, nothing that could be estimated.
    """
    on = find_machine(machine)
    if not 1 <= repeats <= MAX_REPEATS:
        raise PlanError(f"{repeats} rounds: choose 1 to {MAX_REPEATS}.")
    measured = find_named(Benchmark.objects.filter(retired=False), "benchmark", "name", benchmark)
    if measured.machines and on.key not in measured.machines:
        raise PlanError(f"{benchmark} is an own model of {', '.join(measured.machines)} alone.")
    factors, fixed = factors_of(levels)
    arms, excluded = _Arms(on, levels[TORCH]).sorted_out(factors, fixed)
    cells = [arm.cell for arm in arms]
    estimable = estimable_effects(factors, cells)
    if not estimable.effects:
        reasons = "; ".join(f"{cell_text(factors, out.cell)}: {out.why}" for out in excluded)
        raise PlanError(f"The combinations that can be measured show no effect. {reasons}.")
    case = Case(measured.name, config)
    return FactorialPlan(
        machine=on,
        benchmark=measured,
        config=find_named(Config.objects.filter(retired=False), "config", "name", config),
        repeats=repeats,
        factors=factors,
        arms=arms,
        excluded=excluded,
        estimable=estimable,
        fewest=fewest_processes(factors, cells, repeats),
        cost=budget([case] * (len(arms) * repeats), {}),
        to_install=_to_install(on, arms),
    )


class _Arms:
    """Finds the build and the libraries of each combination on one machine."""

    def __init__(self, machine: Machine, torches: Sequence[str]) -> None:
        self._machine = machine
        self._builds = installable_builds([machine])
        self._shared = _shared_libraries(torches)
        adopted = InstalledEnvironment.objects.filter(
            worker__machine=machine, adopted=True, state=InstalledEnvironment.State.READY
        )
        self._adopted = list(adopted.order_by("pk"))

    def sorted_out(
        self, factors: Sequence[Factor], fixed: Mapping[str, str]
    ) -> tuple[list[PlannedArm], list[ExcludedArm]]:
        arms, excluded = [], []
        for cell in all_cells(factors):
            try:
                arms.append(self._arm(cell, levels_at(factors, cell, fixed)))
            except ImpossibleArm as reason:
                excluded.append(ExcludedArm(cell, str(reason)))
        return arms, excluded

    def _arm(self, cell: Cell, levels: Mapping[str, str]) -> PlannedArm:
        base = self._base(levels)
        libraries = library_levels(levels)
        if refusal := refused_library(base.version, libraries):
            raise ImpossibleArm(refusal)
        if base.adopted:
            return PlannedArm(cell, self._variant(base, levels), self._adopted_set(base, libraries))
        return PlannedArm(cell, self._variant(base, levels), {**self._shared, **libraries})

    def _base(self, levels: Mapping[str, str]) -> TorchBuild:
        """The build of a torch version, for a version of CUDA where that is given."""
        torch, cuda = levels[TORCH], levels.get(CUDA)
        if cuda is None:
            build = named_build(torch, self._machine)
            if build.base_id is not None:
                raise PlanError(f"{build} is a variant: name its base, and exchange `variant`.")
            if build not in self._builds:
                raise ImpossibleArm(f"{self._machine} neither has {build} nor can install it")
            return build
        for build in self._builds:
            is_torch = torch_of(build) == public_version(torch)
            if build.base_id is None and is_torch and cuda_of(build) == cuda:
                return build
        raise ImpossibleArm(
            f"no torch {torch} for {cuda} is known here that {self._machine} can install: if "
            "there is one, add it with manage.py add_build"
        )

    def _variant(self, base: TorchBuild, levels: Mapping[str, str]) -> TorchBuild:
        name = levels.get(VARIANT, UNVARIED)
        if name == UNVARIED:
            return base
        for build in self._builds:
            if build.base_id == base.pk and variant_of(build) == name:
                return build
        raise ImpossibleArm(f"{base} has no variant {name}: add it with manage.py add_variant")

    def _adopted_set(self, base: TorchBuild, libraries: Mapping[str, str]) -> dict[str, str]:
        """What an interpreter has that was found on the machine: it cannot be made again."""
        sets = [each.libraries for each in self._adopted if each.build_id == base.pk]
        for installed in sets:
            if libraries.items() <= installed.items():
                shared = {name: installed[name] for name in ALWAYS if name in installed}
                return {**shared, **libraries}
        names = ", ".join(f"{name} {version}" for name, version in libraries.items())
        raise ImpossibleArm(
            f"{base} is an interpreter that was found on {self._machine}, none has {names}, and "
            "the site installs nothing into it"
        )


def torch_of(build: TorchBuild | MeasuredBuild) -> str:
    """The torch of a build as a level names it. A release candidate may have the version of the
    release that it becomes: its label tells them apart.
    """
    is_candidate = build.channel == TorchBuild.Channel.TEST
    return public_version(build.label if is_candidate else build.version)


def cuda_of(build: TorchBuild) -> str:
    """What the build is for: "cu130", "cpu"; empty where neither label nor facts say it."""
    flavour = flavour_of(build.label.partition("~")[0]) or flavour_of(build.version)
    match = _CUDA_VERSION.match(build.cuda)
    return flavour or (f"cu{match[1]}{match[2]}" if match else "")


def variant_of(build: TorchBuild) -> str:
    """The part of a label after the ~, with the fingerprint of the settings."""
    return build.label.partition("~")[2]


def _shared_libraries(torches: Sequence[str]) -> dict[str, str]:
    """The newest libraries that all these versions take; each arm's own where none are known."""
    try:
        versions = [public_version(torch).partition("@")[0] for torch in torches]
        return shared_set(*versions)
    except PinError:
        return {}


def _to_install(machine: Machine, arms: Sequence[PlannedArm]) -> int:
    """Of how many arms' environments no worker of the machine has one."""
    ready = InstalledEnvironment.objects.filter(
        worker__machine=machine, state=InstalledEnvironment.State.READY
    )
    installed = list(ready.values_list("build", "libraries"))
    missing = set()
    for arm in arms:
        build = arm.build.base_id or arm.build.pk
        has = any(
            build == of and arm.libraries.items() <= libraries.items()
            for of, libraries in installed
        )
        if not has:
            missing.add((build, tuple(sorted(arm.libraries.items()))))
    return len(missing)
