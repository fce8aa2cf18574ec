"""Choice of the two sides to compare: builds, machines, tracks or configs, each side by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from dashboard.catalog.core.plan import hint
from dashboard.catalog.core.versions import version_order
from dashboard.catalog.selectors.flavours import ComparedBuild, other_differences
from dashboard.comparisons.selectors.measured_builds import (
    NEWEST_BUILDS,
    MeasuredBuild,
    builds_by_version,
    default_machine,
    passed_cases,
    processes_in_turn,
    visible,
)
from dashboard.comparisons.selectors.versions import MeasuredSide, SideSource
from dashboard.judgement.looks import CERTAIN_PAIRS, LOOKS
from dashboard.language.questions import question
from dashboard.models import Config

NAMES = ("build", "machine", "track", "config")


class NotMeasuredError(LookupError):
    """A side that was named and not measured, in words."""


@dataclass(frozen=True, slots=True)
class RequestedSide:
    """One side as a person names it; what is empty is not named."""

    build: str
    machine: str
    track: str
    config: str


@dataclass(frozen=True, slots=True)
class SideChoice:
    """One side. track, config: empty for all of them."""

    tested: MeasuredBuild
    track: str
    config: str
    config_id: int | None

    @property
    def source(self) -> SideSource:
        track = self.tested.track if self.track else None
        return SideSource(self.tested.machine, track, self.config_id)

    @property
    def measured(self) -> MeasuredSide:
        return self.source, self.tested.build

    @property
    def names(self) -> dict[str, str]:
        return {
            "build": self.tested.label,
            "machine": self.tested.machine_key,
            "track": self.track,
            "config": self.config,
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """Both sides, and what they have in common."""

    base: SideChoice
    new: SideChoice

    @property
    def differs(self) -> list[str]:
        """In what the sides differ: of NAMES."""
        return [name for name in NAMES if self.base.names[name] != self.new.names[name]]

    @property
    def sides(self) -> tuple[str, str]:
        """Each side named by what it differs in; by its build where it differs in nothing."""
        return self._name_of(self.base), self._name_of(self.new)

    def _name_of(self, side: SideChoice) -> str:
        names = self.differs or ["build"]
        return ", ".join(side.names[name] or f"every {name}" for name in names)

    @property
    def shared(self) -> str:
        """Words for what both sides have in common: "on h100, track nightly"."""
        names, differs = self.base.names, self.differs
        words = {
            "build": f"PyTorch {names['build']}",
            "machine": f"on {names['machine']}",
            "track": f"track {names['track']}",
            "config": f"config {names['config']}",
        }
        shared = [name for name in NAMES if names[name] and name not in differs]
        if not differs:
            shared.remove("build")  # it names the sides
        return ", ".join(words[name] for name in shared)

    @property
    def question(self) -> str:
        return question(*self.sides, self.shared)

    @property
    def title(self) -> str:
        return f"{' → '.join(self.sides)} {self.shared}"


def choose_sides(
    base: RequestedSide, new: RequestedSide, measured: Sequence[MeasuredBuild]
) -> Choice | None:
    """The two sides; what is not named is chosen by how many cases both sides passed, and how often
    in turn. None: there are no two builds to choose. Raises NotMeasuredError.
    """
    if not measured:
        return None
    machine = _machine_called(measured, base.machine)
    machine = machine or default_machine(measured, base.track, base.config)
    new_machine = _machine_called(measured, new.machine) or machine
    base, new = replace(base, machine=machine), replace(new, machine=new_machine)
    if base.build and new.build:
        return Choice(_side(measured, base), _side(measured, new))

    if (base.machine, base.config) == (new.machine, new.config):
        pair = _two_builds(measured, base, new)
    else:
        pair = _same_build(measured, base, new)
    if pair is None:
        return None
    base, new = replace(base, build=pair[0]), replace(new, build=pair[1])
    return Choice(_side(measured, base), _side(measured, new))


def other_differences_of(choice: Choice) -> str:
    """Describe what differs between the two builds besides torch's version; may be empty. At most
    two queries.
    """
    builds = []
    for tested in (choice.base.tested, choice.new.tested):
        builds.append(ComparedBuild(tested.label, tested.machine, tested.adopted))
    return other_differences(*builds)


def _same_build(
    measured: Sequence[MeasuredBuild], base: RequestedSide, new: RequestedSide
) -> tuple[str, str]:
    """One build for both: the named one, else the newest of which a benchmark passed on both sides;
    where there is none, the newest that both sides have.
    """
    label = base.build or new.build
    if not label:
        on_new = {tested.build: tested for tested in _builds_of(measured, new)}
        shared = [tested for tested in _builds_of(measured, base) if tested.build in on_new]
        passed_base = _passed_benchmarks(shared, base)
        passed_new = _passed_benchmarks([on_new[tested.build] for tested in shared], new)
        matched = [each for each in shared if passed_base[each.build] & passed_new[each.build]]
        labels = [tested.label for tested in matched or shared]
        label = labels[0] if labels else ""
    return label, label


def _passed_benchmarks(builds: Sequence[MeasuredBuild], side: RequestedSide) -> dict[int, set[int]]:
    """Build -> the benchmarks that passed in the side's config, or in any. One query."""
    cases = passed_cases(builds, side.track, side.config)
    benchmarks = {}
    for tested in builds:
        passed = cases.get((tested.machine, tested.build), ())
        benchmarks[tested.build] = {benchmark for benchmark, _ in passed}
    return benchmarks


class _Pair(NamedTuple):
    """matched: how many cases passed on both."""

    matched: int
    base: MeasuredBuild
    new: MeasuredBuild


def _two_builds(
    measured: Sequence[MeasuredBuild], base: RequestedSide, new: RequestedSide
) -> tuple[str, str] | None:
    """The newest two builds with at least half as many cases in common as any two have; no variant
    where there are two plain builds. None: there are no two.

    What is not named gives way to a build that was measured in turn with the other side: a pair
    that never was has no verdict.
    """
    pairs = _pairs(measured, base, new)
    if not pairs:
        return None

    # The older one is the base, unless a person named the sides the other way round
    forward = [pair for pair in pairs if _age(pair.base) < _age(pair.new)] or pairs
    most = max(pair.matched for pair in forward)
    alike = [pair for pair in forward if 2 * pair.matched >= most]
    newest = alike[0]
    if base.build:
        fixed, others = newest.base, [pair.new for pair in alike]
    else:
        alike = [pair for pair in alike if pair.new.build == newest.new.build]
        fixed, others = newest.new, [pair.base for pair in alike]
    in_turn = {}
    if len(others) > 1:
        in_turn = processes_in_turn([fixed, *others], {base.track, new.track}, base.config)
    degrees = []
    for pair, other in zip(alike, others, strict=True):
        processes = in_turn.get((fixed.machine, fixed.build, other.build), ())
        degrees.append(_degree_in_turn(processes, pair.matched))
    chosen = alike[degrees.index(max(degrees))]
    return chosen.base.label, chosen.new.label


def _pairs(
    measured: Sequence[MeasuredBuild], base: RequestedSide, new: RequestedSide
) -> list[_Pair]:
    """Every two builds that the sides may be, the newest first. One query for each track."""
    bases, news = _candidates(measured, base), _candidates(measured, new)
    cases = {}
    for track in {base.track, new.track}:
        cases[track] = passed_cases([*bases, *news], track, base.config)
    pairs = []
    for to, from_ in product(news, bases):
        if to.build != from_.build:
            on_new = cases[new.track].get((to.machine, to.build), set())
            on_base = cases[base.track].get((from_.machine, from_.build), set())
            pairs.append(_Pair(len(on_new & on_base), from_, to))
    return pairs


def _degree_in_turn(processes: Sequence[int], matched: int) -> int:
    """Rate how far two builds were measured in turn, by the processes of each case that was: 2
    where half of all cases can have a certain change, 1 where half can have an interval, else 0.
    """
    certain = sum(count >= CERTAIN_PAIRS for count in processes)
    repeated = sum(count >= LOOKS[0] for count in processes)
    return (2 * certain >= matched) + (2 * repeated >= matched)


def _age(tested: MeasuredBuild) -> tuple[Any, ...]:
    return version_order(tested.version), tested.at


def _candidates(measured: Sequence[MeasuredBuild], side: RequestedSide) -> list[MeasuredBuild]:
    """The builds that this side may be, the newest first."""
    builds = _builds_of(measured, side)
    if side.build:
        return [_build_called(side, builds)]
    plain = [tested for tested in builds if tested.base is None]
    return (plain if len(plain) > 1 else builds)[:NEWEST_BUILDS]


def _side(measured: Sequence[MeasuredBuild], side: RequestedSide) -> SideChoice:
    called = _build_called(side, _builds_of(measured, side))
    return SideChoice(called, side.track, side.config, _config_id(side.config))


def _machine_called(measured: Sequence[MeasuredBuild], name: str) -> str:
    """The machine of exactly that key, else the only one whose key goes on after it: h100 is
    h100-80gb-hbm3 too. Else the name itself, where nothing was measured.
    """
    if name in {tested.machine_key for tested in measured}:
        return name
    keys = sorted({tested.machine_key for tested in visible(measured)})
    near = [key for key in keys if key.startswith(f"{name}-")]
    if len(near) > 1:
        raise NotMeasuredError(f"“{name}” may be {' or '.join(near)}: write one of them.")
    return near[0] if near else name


def _builds_of(measured: Sequence[MeasuredBuild], side: RequestedSide) -> list[MeasuredBuild]:
    there = builds_by_version(measured, side.machine, side.track)
    if not there:
        where = f"on a machine “{side.machine}”"
        if side.track:
            where += f" for a track “{side.track}”"
        raise NotMeasuredError(f"Nothing was measured {where}.")
    return there


def _build_called(side: RequestedSide, there: Sequence[MeasuredBuild]) -> MeasuredBuild:
    """The build of exactly that label, else a plain one, else a variant."""
    called = [tested for tested in there if is_called(tested.label, side.build)]
    if not called:
        suggestion = hint(side.build, [tested.label for tested in there])
        raise NotMeasuredError(f"“{side.build}” was not measured on {side.machine}. {suggestion}")
    return min(called, key=lambda tested: (tested.label != side.build, tested.base is not None))


def _config_id(name: str) -> int | None:
    if not name:
        return None
    configs = dict(Config.objects.values_list("name", "pk"))
    if name not in configs:
        raise NotMeasuredError(f"There is no config “{name}”. {hint(name, list(configs))}")
    return configs[name]


def is_called(label: str, name: str) -> bool:
    """Test whether a person's `name` may mean the build `label`: 2.13.0 is 2.13.0+cu130 too."""
    return not name or label == name or label.startswith(f"{name}+")
