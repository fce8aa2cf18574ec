"""Tracks: which build a named stream of builds stands at when a run is triggered on it."""

from datetime import datetime

from django.db.models import Q
from packaging.version import Version

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.core.versions import version_order
from dashboard.models import JobState, Schedule, TorchBuild, Track

CHANNELS = {
    Track.Kind.STABLE: TorchBuild.Channel.RELEASE,
    Track.Kind.NIGHTLY: TorchBuild.Channel.NIGHTLY,
    Track.Kind.TEST: TorchBuild.Channel.TEST,
}
WHAT_TO_DO = {
    Track.Kind.LOCAL: "set one in the admin",
    Track.Kind.STABLE: "add a release with `manage.py add_build`, or look for them with "
    "`manage.py discover_builds`",
    Track.Kind.NIGHTLY: "set NIGHTLY_INDEX_URL and run `manage.py discover_builds`",
    Track.Kind.TEST: "set TEST_INDEX_URL and run `manage.py discover_builds`",
    Track.Kind.PINNED: "choose the build that it is pinned to in the admin",
    Track.Kind.VERSIONS: "choose a build: this track holds builds side by side and stands at none",
}


class NoBuild(PlanError):
    """A track stands at no build yet; the text says how to give it one."""


class MeasuredEnough(PlanError):
    """A schedule has measured the track's build often enough; nothing is wrong."""


def resolve(*, track: Track, now: datetime) -> TorchBuild:
    """The build at which the track stands now; written to `track.build`, which pages show.

    local, pinned: the build that was set, by the worker or by a person.
    stable, nightly, test: the newest version of its channel that was out by `now`, variants left
    aside.
    Raises NoBuild.
    """
    build = _standing_build(track, now)
    if build is None:
        raise NoBuild(_no_build_text(track))
    if track.build_id != build.pk:
        track.build = build
        track.save(update_fields=["build"])
    return build


def no_build_warning(track: Track, now: datetime) -> str:
    """Warn that the track stands at no build, and how it gets one; empty if `resolve` finds one."""
    return "" if _standing_build(track, now) else _no_build_text(track)


def _standing_build(track: Track, now: datetime) -> TorchBuild | None:
    kind = Track.Kind(track.kind)
    if kind == Track.Kind.VERSIONS:
        return None
    if kind not in CHANNELS:
        return track.build
    is_out = Q(released_on=None) | Q(released_on__lte=now.date())
    builds = TorchBuild.objects.filter(is_out, channel=CHANNELS[kind], base=None)
    return max(builds, key=_order, default=None)


def _no_build_text(track: Track) -> str:
    return f"Track {track} has no build yet: {WHAT_TO_DO[Track.Kind(track.kind)]}."


def check_repeats(*, schedule: Schedule, build: TorchBuild) -> None:
    """Raise MeasuredEnough where the schedule's runs have measured this build `repeats` times.

    Never for a pinned track, which is the machine's control, nor where `repeats` is 0. Only runs
    that brought a result count: a build whose runs all failed is tried again.
    """
    if schedule.track.kind == Track.Kind.PINNED or not schedule.repeats:
        return
    measured = schedule.runs.filter(build=build, jobs__state=JobState.DONE).distinct().count()
    if measured >= schedule.repeats:
        times = "once" if measured == 1 else f"{measured} times"
        raise MeasuredEnough(
            f"{build} was measured {times} already, which is enough: it waits for a newer build."
        )


def _order(build: TorchBuild) -> tuple[tuple[bool, Version], bool]:
    """Without +cpu or +cu130, which is not a newer release.

    Of one version twice, the one that a worker can install comes last.
    """
    return version_order(build.version.partition("+")[0]), not build.adopted
