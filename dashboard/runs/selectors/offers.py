"""Offers of "Run now": machines that can measure now, and the builds that each can install."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import QuerySet

from dashboard.catalog.core.versions import version_order
from dashboard.catalog.selectors.lookups import FLAVOURS
from dashboard.models import InstalledEnvironment, Machine, Purpose, Run, TorchBuild, Track, Worker
from dashboard.runs.selectors.runs import ALIVE, TAKES_JOBS

READY = InstalledEnvironment.State.READY


def living_machines(now: datetime) -> QuerySet[Machine]:
    """Machines with a worker that takes jobs, hidden ones left out."""
    workers = Worker.objects.filter(TAKES_JOBS, last_seen__gte=now - ALIVE)
    return Machine.objects.filter(workers__in=workers, hidden=False).distinct()


def installable_builds(machines: Sequence[Machine]) -> list[TorchBuild]:
    """The builds that one of these machines can install, the best to begin with first: those that
    it has, plain ones, the newest. Two queries.
    """
    builds = []
    present = _present_builds(machines)
    for build in TorchBuild.objects.select_related("base"):
        base = build.base or build
        kinds = {machine.device_kind for machine in machines}
        if base.pk in present or any(_fits(base, kind) for kind in kinds):
            builds.append(build)
    builds.sort(
        key=lambda build: (
            (build.base_id or build.pk) in present,
            build.base_id is None,
            build.created_at,
        ),
        reverse=True,
    )
    return builds


def _present_builds(machines: Sequence[Machine]) -> set[int]:
    ready = InstalledEnvironment.objects.filter(worker__machine__in=machines, state=READY)
    return set(ready.values_list("build", flat=True))


def _fits(build: TorchBuild, device_kind: str) -> bool:
    """Test whether pip can find it for such a machine: a release's version, of its kind of device.

    What a worker found installed, and what an import names by its commit, cannot be installed.
    """
    is_version, _ = version_order(build.version)
    local = build.label.partition("+")[2] or build.version.partition("+")[2]
    is_flavour = not local or local.startswith(FLAVOURS[device_kind])
    return is_version and is_flavour and not build.adopted


def default_track(build: TorchBuild | None, machine: Machine) -> Track | None:
    """The track that stands at the build, else the one that the machine measured last, else one
    that has a build. None that another kind of machine measures.
    """
    other_kinds = Machine.objects.exclude(device_kind=machine.device_kind)
    theirs = Run.objects.filter(machine__in=other_kinds).values("track")
    tracks = Track.objects.filter(hidden=False).exclude(pk__in=theirs)
    if standing := tracks.filter(build=build).first():
        return standing
    own = Run.objects.filter(machine=machine, track__in=tracks).exclude(purpose=Purpose.IMPORT)
    last = own.select_related("track").first()
    return last.track if last else tracks.filter(build__isnull=False).first()


def track_warning(track: Track, machine: Machine) -> str:
    """Warn of what is odd about measuring for this track there; empty for nothing."""
    measured = Machine.objects.filter(pk__in=Run.objects.filter(track=track).values("machine"))
    others = list(measured.exclude(pk=machine.pk).order_by("key"))
    if not others:
        return ""
    names = ", ".join(str(other) for other in others[:3])
    if all(other.device_kind != machine.device_kind for other in others):
        theirs, own = others[0].get_device_kind_display(), machine.get_device_kind_display()
        return (
            f"Track {track} has results of {theirs} machines alone ({names}), and {machine} is a "
            f"{own} machine."
        )
    if measured.filter(pk=machine.pk).exists():
        return ""
    return (
        f"The track {track} has results of {names} and none of {machine}: "
        "this begins new series in it."
    )
