"""Which two sides are compared: two builds, machines, tracks or configs, each side by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.catalog.core.plan import hint
from dashboard.comparisons.selectors.versions import (
    MeasuredBuild,
    SideSource,
    builds_by_version,
    default_machine,
)
from dashboard.language.wording import question
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
        """What both sides have in common, in words: "on h100, track nightly"."""
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
    """The two sides; what is not named is the two newest versions of the machine that was measured
    last. None: there are no two builds to choose. Raises NotMeasuredError.
    """
    if not measured:
        return None
    machine = base.machine or default_machine(measured)
    builds = builds_by_version(measured, machine, base.track)
    is_named = base.build or new != base
    if len(builds) == 1 and not is_named:
        return None

    base_build = base.build or _build_before(builds, new.build)
    new_build = new.build
    if base.machine != new.machine or base.config != new.config:
        new_build = new_build or base.build
    return Choice(
        _side(measured, RequestedSide(base_build, machine, base.track, base.config)),
        _side(measured, RequestedSide(new_build, new.machine or machine, new.track, new.config)),
    )


def _build_before(builds: Sequence[MeasuredBuild], new: str) -> str:
    """The build before the one called `new`, or before the newest; no variant where there are two
    plain builds. builds: the newest first.
    """
    labels = [tested.label for tested in builds if tested.base is None]
    if len(labels) < 2:
        labels = [tested.label for tested in builds]
    if not labels:
        return ""
    places = (place for place, label in enumerate(labels) if is_called(label, new))
    return labels[min(next(places, 0) + 1, len(labels) - 1)]


def _side(measured: Sequence[MeasuredBuild], side: RequestedSide) -> SideChoice:
    there = builds_by_version(measured, side.machine, side.track)
    if not there:
        where = f"on a machine “{side.machine}”"
        if side.track:
            where += f" for a track “{side.track}”"
        raise NotMeasuredError(f"Nothing was measured {where}.")
    return SideChoice(_build_called(side, there), side.track, side.config, _config_id(side.config))


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
    """Whether a person who writes `name` may mean the build `label`: 2.13.0 is 2.13.0+cu130 too."""
    return not name or label == name or label.startswith(f"{name}+")
