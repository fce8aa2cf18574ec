"""Release candidates: which there are, with what each is compared, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.db.models import Exists, OuterRef, QuerySet
from packaging.version import Version

from dashboard.catalog.core.versions import flavour_of, version_order
from dashboard.comparisons.core.candidate_verdicts import CandidateVerdicts, verdicts_of
from dashboard.comparisons.core.upgrade_groups import REPORT_METRICS
from dashboard.comparisons.selectors import comparisons, versions
from dashboard.models import Comparison, InstalledEnvironment, Machine, Run, TorchBuild, Track
from dashboard.runs.selectors.offers import installable_builds
from dashboard.runs.selectors.runs import ACTIVE_RUNS

FAILED, BUILDING = InstalledEnvironment.State.FAILED, InstalledEnvironment.State.BUILDING
_SHOWN = 4
_REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One candidate on one machine. comparison: None where none was started; verdicts: None until
    it has ended.
    """

    build: TorchBuild
    comparison: Comparison | None
    verdicts: CandidateVerdicts | None


def current() -> list[TorchBuild]:
    """Find the newest candidate of each version that is not released yet, oldest version first. One
    query.
    """
    builds = TorchBuild.objects.filter(base=None, adopted=False)
    releases = [Version("0")]
    candidates = []
    for build in builds.order_by("created_at", "pk"):
        is_version, version = version_order(build.version)
        if is_version and build.channel == TorchBuild.Channel.RELEASE:
            releases.append(Version(version.public))
        elif is_version and build.channel == TorchBuild.Channel.TEST:
            candidates.append((version, build))

    newest: dict[tuple[int, ...], tuple[Version, TorchBuild]] = {}
    released = max(releases)
    for version, build in candidates:
        if Version(version.public) <= released:
            continue
        newest_so_far = newest.get(version.release)
        # Of equal versions the later one: the index has replaced the wheels
        if newest_so_far is None or version >= newest_so_far[0]:
            newest[version.release] = version, build
    return [build for _, build in sorted(newest.values(), key=lambda each: each[0])]


def last_release(candidate: TorchBuild, machine: Machine) -> TorchBuild | None:
    """The newest release before the candidate that the machine has or can install, of the
    candidate's flavour where there is one. None: there is none, or it cannot install the candidate.
    Two queries.
    """
    builds = installable_builds([machine])
    if candidate not in builds:
        return None
    _, newest = version_order(candidate.version)
    releases = []
    for build in builds:
        is_version, version = version_order(build.version)
        is_release = build.channel == TorchBuild.Channel.RELEASE and build.base_id is None
        if is_version and is_release and Version(version.public) < Version(newest.public):
            same_flavour = flavour_of(build.label) == flavour_of(candidate.label)
            releases.append((Version(version.public), same_flavour, not build.adopted, build))
    releases.sort(key=lambda each: each[:3])
    return releases[-1][-1] if releases else None


def ended() -> QuerySet[Comparison]:
    """Comparisons of candidates that have ended, and of which nobody was notified yet."""
    active = Run.objects.filter(comparison=OuterRef("pk"), state__in=ACTIVE_RUNS)
    waiting = Comparison.objects.filter(
        track__isnull=False, considered_at=None, is_settled=True
    ).exclude(Exists(active))
    return waiting.order_by("pk")


def verdicts(of: Comparison) -> CandidateVerdicts:
    """Judge the comparison's measurements by model; kept while the data are the same."""
    base, new = comparisons.measured_sides(of)
    fingerprint = versions.data_fingerprint([base, new], REPORT_METRICS)
    data = f"{fingerprint} {of.repeats} {of.is_settled}"
    return _verdicts(data, _why_not_installed(of), of.pk)


@lru_cache(maxsize=32)
def _verdicts(data: str, why_not_installed: str, comparison: int) -> CandidateVerdicts:
    """data: as a part of the cache's key alone."""
    report = comparisons.report(comparisons.listing().get(pk=comparison))
    return verdicts_of(report, why_not_installed=why_not_installed)


def _why_not_installed(of: Comparison) -> str:
    """Explain what kept the machine from installing the candidate; empty where one of its workers
    has it.

    A candidate that could not be installed has failed nothing, whatever its jobs ended with.
    """
    environments = InstalledEnvironment.objects.filter(
        build=of.new.base or of.new, worker__machine=of.machine
    )
    failed = environments.filter(state=FAILED).order_by("-updated_at").first()
    if failed is None or environments.exclude(state__in=[FAILED, BUILDING]).exists():
        return ""
    return f"It could not be installed on {of.machine}: {failed.message}"[:_REASON_CHARACTERS]


def rows(machine: str) -> list[CandidateRow]:
    """The newest candidates as the page of versions shows them; none without a track that follows
    them. Two queries, where nothing has to be judged.
    """
    if not Track.objects.filter(kind=Track.Kind.TEST, hidden=False).exists():
        return []
    builds = TorchBuild.objects.filter(channel=TorchBuild.Channel.TEST, base=None)
    newest = list(builds.order_by("-created_at")[:_SHOWN])
    of_build = _by_build(newest, machine)
    listed = []
    for build in newest:
        comparison = of_build.get(build.pk)
        row = CandidateRow(build, comparison, None)
        if comparison is not None and not _is_active(comparison):
            row = replace(row, verdicts=verdicts(comparison))
        listed.append(row)
    return listed


def _by_build(builds: Sequence[TorchBuild], machine: str) -> dict[int, Comparison]:
    of_tracks = comparisons.listing().filter(track__isnull=False, machine__key=machine)
    newest_last = of_tracks.filter(new__in=builds).order_by("pk").prefetch_related("runs")
    return {comparison.new_id: comparison for comparison in newest_last}


def _is_active(comparison: Comparison) -> bool:
    runs = comparison.runs.all()
    return not comparison.is_settled or any(run.state in ACTIVE_RUNS for run in runs)
