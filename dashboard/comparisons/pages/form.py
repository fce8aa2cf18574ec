"""What the address of a comparison names: two builds, machines, tracks or configs, each side by
itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest

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
    """Both sides, and what is known to choose from."""

    base: SideChoice
    new: SideChoice

    @property
    def differs(self) -> list[str]:
        """In what the sides differ: of NAMES."""
        return [name for name in NAMES if self.base.names[name] != self.new.names[name]]

    @property
    def sides(self) -> tuple[str, str]:
        """Each side named by what it differs in; by its build where it differs in nothing."""
        names = self.differs or ["build"]
        base, new = (
            ", ".join(side.names[name] or f"every {name}" for name in names)
            for side in (self.base, self.new)
        )
        return base, new

    @property
    def shared(self) -> str:
        """What both sides have in common, in words: "on h100, track nightly"."""
        names = self.base.names
        same = [name for name in NAMES if name not in self.differs and names[name]]
        told = {
            "build": f"PyTorch {names['build']}",
            "machine": f"on {names['machine']}",
            "track": f"track {names['track']}",
            "config": f"config {names['config']}",
        }
        return ", ".join(told[name] for name in same if name != "build" or self.differs)

    @property
    def question(self) -> str:
        return question(*self.sides, self.shared)

    @property
    def title(self) -> str:
        return f"{' → '.join(self.sides)} {self.shared}"


def choose(request: HttpRequest, known: Sequence[MeasuredBuild]) -> Choice | None:
    """The two sides that the address names; what it leaves out is the two newest versions of the
    machine that was measured last. `new_machine`, `new_track` and `new_config` are the new side's
    where they differ.

    None: there are no two builds to choose. Raises Http404 where it names what was not measured.
    """
    ask = {
        name: request.GET.get(name, "").strip()
        for name in ("base", "new", "machine", "track", "config")
    }
    fresh = {
        name: request.GET.get(f"new_{name}", "").strip() or ask[name]
        for name in ("machine", "track", "config")
    }
    if not known:
        return None
    machine = ask["machine"] or default_machine(known)
    builds = builds_by_version(known, machine, ask["track"])
    is_asked = any(ask[name] for name in ("base", "new")) or ask != {**ask, **fresh}
    if len(builds) == 1 and not is_asked:
        return None
    base = _side(
        known, ask["base"] or _before(builds, ask["new"]), machine, ask["track"], ask["config"]
    )
    same_build = (
        ask["base"]
        if ask["machine"] != fresh["machine"] or ask["config"] != fresh["config"]
        else ""
    )
    new = _side(
        known,
        ask["new"] or same_build,
        fresh["machine"] or machine,
        fresh["track"],
        fresh["config"],
    )
    return Choice(base, new)


def _before(builds: Sequence[MeasuredBuild], new: str) -> str:
    """The build before the one called `new`, or before the newest; no variant where there are two
    plain builds.
    """
    plain = [tested.label for tested in builds if tested.base is None]
    labels = plain if len(plain) > 1 else [tested.label for tested in builds]
    place = (
        next((number for number, label in enumerate(labels) if is_called(label, new)), 0)
        if new
        else 0
    )
    return labels[min(place + 1, len(labels) - 1)] if labels else ""


def _side(
    known: Sequence[MeasuredBuild], build: str, machine: str, track: str, config: str
) -> SideChoice:
    there = builds_by_version(known, machine, track)
    if not there:
        where = f"on a machine “{machine}”" + (f" for a track “{track}”" if track else "")
        raise Http404(f"Nothing was measured {where}.")
    called = [tested for tested in there if is_called(tested.label, build)]
    found = min(
        called, key=lambda tested: (tested.label != build, tested.base is not None), default=None
    )
    if found is None:
        raise Http404(
            f"“{build}” was not measured on {machine}. "
            f"{hint(build, [tested.label for tested in there])}"
        )
    configs = dict(Config.objects.values_list("name", "pk")) if config else {}
    if config and config not in configs:
        raise Http404(f"There is no config “{config}”. {hint(config, list(configs))}")
    return SideChoice(found, track, config, configs.get(config))


def is_called(label: str, name: str) -> bool:
    """Whether a person who writes `name` may mean the build `label`: 2.13.0 is 2.13.0+cu130 too."""
    return not name or label == name or label.startswith(f"{name}+")
