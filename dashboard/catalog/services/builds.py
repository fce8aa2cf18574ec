"""Torch builds: added by version, found on an index, varied by environment or settings."""

import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from packaging.version import InvalidVersion, Version

from dashboard.accounts.core.public_addresses import NotPublic, only_public
from dashboard.catalog.core.candidates import (
    candidate_label,
    is_same_candidate,
    newest_candidates,
)
from dashboard.catalog.core.package_page import Release, Target, Wheel
from dashboard.catalog.core.pins import OLDEST
from dashboard.catalog.core.plan import PlanError, check_variant, hint
from dashboard.catalog.core.versions import channel_of, parse_version
from dashboard.catalog.selectors.lookups import UnknownBuild, named_build
from dashboard.catalog.services.package_index import (
    IndexProblem,
    cuda_and_triton,
    default_index,
    torch_releases,
)
from dashboard.language.contracts import Document
from dashboard.models import Machine, TorchBuild, Track, Worker

NAME_LENGTH = 40
NAME = re.compile(rf"[a-z0-9][a-z0-9_.-]{{0,{NAME_LENGTH - 1}}}")
PLATFORM = re.compile(r"(?P<system>[a-z]+)_(?P<machine>\w+)-cp3(?P<minor>\d+)")
FINGERPRINT_DIGITS = 8
FACTS = ("git_sha", "cuda", "triton")  # what an installed build reports of itself
SHARED_WITH_BASE = (
    "version",
    *FACTS,
    "channel",
    "released_on",
    "python",
    "index_url",
    "adopted",
)

logger = structlog.get_logger(__name__)


class BuildError(PlanError):
    """A build that cannot be added; the text says why, and what there is instead."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """Findings on the package indexes."""

    added: list[TorchBuild] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # one for each index that did not answer


def add_build(*, version: str, index_url: str = "", may_be_private: bool = True) -> TorchBuild:
    """The torch build of this version, added as the index describes it if it is not there yet.

    index_url: of the index that has it; empty: the site's own (PACKAGE_INDEX_URL).
    may_be_private: an index that the settings do not name may lie in the site's own network.
    CUDA, Triton and git sha that the index does not report are filled in by the first worker that
    installs it. Raises BuildError: no such version (the text names near ones), no wheel for any of
    our workers, an index that does not answer, the index of release candidates.
    """
    parsed = _parse_version(version)
    if index_url and index_url.rstrip("/") == settings.TEST_INDEX_URL:
        raise BuildError(
            f"{index_url} has release candidates, whose wheels change under one version: "
            "`manage.py discover_builds` adds them."
        )
    existing = TorchBuild.objects.filter(label=str(parsed)).first()
    if existing is not None:
        return existing
    is_trusted = may_be_private or not index_url or index_url.rstrip("/") in index_addresses()
    try:
        with nullcontext() if is_trusted else only_public():
            releases = torch_releases(index_url or default_index())
            release = releases.get(parsed)
            if release is None:
                versions = [str(each) for each in releases]
                raise BuildError(f"There is no torch {version}. {hint(str(parsed), versions)}")
            return _add(release, index_url)
    except (IndexProblem, NotPublic) as problem:
        raise BuildError(str(problem)) from None


def add_variant(
    *,
    base: TorchBuild,
    name: str,
    env: Mapping[str, str] | None = None,
    inductor: Document | None = None,
) -> TorchBuild:
    """Add a variant: `base` with these environment variables and Inductor settings.

    inductor: attributes of torch._inductor.config. The label carries a fingerprint of the two: the
    same name with other settings is another build, the same variant again is the existing one.
    Raises BuildError: a bad name, a setting that job.v1 does not allow.
    """
    if not NAME.fullmatch(name):
        raise BuildError(
            f"{name[:200]!r} is not a name of a variant: use up to {NAME_LENGTH} lower-case "
            "letters, digits and . _ -"
        )
    if base.base_id is not None:
        raise BuildError(f"{base} is a variant itself: vary its base, {base.base}.")
    variant = {}
    if env:
        variant["env"] = dict(env)
    if inductor:
        variant["inductor"] = dict(inductor)
    if not variant:
        raise BuildError("A variant needs at least one environment variable or Inductor setting.")
    check_variant(variant)
    shared = {key: getattr(base, key) for key in SHARED_WITH_BASE}
    row, _ = TorchBuild.objects.get_or_create(
        label=variant_label(base.label, name, variant),
        defaults={"base": base, "variant": variant, **shared},
    )
    return row


def settings_name(variant: Document) -> str:
    """A name for a variant, from what it sets: "cudagraphs", "no-epilogue_fusion.threads-4"."""
    values: dict[str, Any] = {}
    for section in variant.values():
        values.update(section)
    parts = []
    for key, value in sorted(values.items()):
        setting = key.rpartition(".")[2]
        if value is False:
            setting = f"no-{setting}"
        elif value is not True:
            setting = f"{setting}-{value}"
        parts.append(setting)
    name = re.sub(r"[^a-z0-9_.-]+", "-", ".".join(parts).lower())
    return name[:NAME_LENGTH].strip("-._") or "settings"


def variant_label(base: str, name: str, variant: Document) -> str:
    """The base's label, the name, and the first hex digits of its settings' SHA-256."""
    document = json.dumps(variant, sort_keys=True, separators=(",", ":"))
    fingerprint = hashlib.sha256(document.encode()).hexdigest()[:FINGERPRINT_DIGITS]
    return f"{base}~{name}-{fingerprint}"


def discover_builds(*, index: str = "", nightly_index: str = "", test_index: str = "") -> Discovery:
    """Add every release that the indexes have and we do not, the newest nightly, and what is on the
    test index alone.

    Each needs a wheel for one of our workers; releases count from OLDEST on.
    index, nightly_index, test_index: empty for PACKAGE_INDEX_URL, NIGHTLY_INDEX_URL and
    TEST_INDEX_URL; without the latter two nightlies and release candidates are not looked for. An
    index that does not answer is listed in `problems`.
    """
    discovery = Discovery()
    try:
        measurable = []
        for version, release in torch_releases(index or default_index()).items():
            if version >= Version(OLDEST) and not version.is_prerelease:
                measurable.append(release)
        discovery.added.extend(_add_new(measurable, index))
    except IndexProblem as problem:
        discovery.problems.append(str(problem))
    nightly_index = nightly_index or settings.NIGHTLY_INDEX_URL
    if nightly_index:
        try:
            releases = torch_releases(nightly_index).values()
            nightlies = [release for release in releases if release.version.is_devrelease]
            discovery.added.extend(_add_new(nightlies[-1:], nightly_index))
        except IndexProblem as problem:
            discovery.problems.append(str(problem))
    candidates = discover_candidates(index=index, test_index=test_index)
    discovery.added.extend(candidates.added)
    discovery.problems.extend(set(candidates.problems) - set(discovery.problems))
    logger.info(
        "indexes asked for torch builds",
        added=len(discovery.added),
        problems=discovery.problems,
    )
    return discovery


def index_addresses() -> list[str]:
    """The addresses that discover_builds asks."""
    addresses = default_index(), settings.NIGHTLY_INDEX_URL, settings.TEST_INDEX_URL
    return [address.rstrip("/") for address in addresses if address]


def discover_candidates(*, index: str = "", test_index: str = "") -> Discovery:
    """Add the newest release and the release candidates that we do not have (core/candidates.py
    says which they are). Without a test index, none.

    Both indexes have to answer: the test index has released versions, too.
    """
    discovery = Discovery()
    test_index = test_index or settings.TEST_INDEX_URL
    if not test_index:
        return discovery
    try:
        releases = torch_releases(index or default_index())
        newest = [version for version in releases if not version.is_prerelease][-1:]
        discovery.added.extend(_add_new([releases[version] for version in newest], index))
        tested = torch_releases(test_index).values()
        for release in newest_candidates(tested, max(newest, default=Version(OLDEST))):
            build = _add_candidate(release, test_index)
            if build is not None:
                discovery.added.append(build)
    except IndexProblem as problem:
        discovery.problems.append(str(problem))
    return discovery


def _add_candidate(release: Release, index_url: str) -> TorchBuild | None:
    """The new build; None where we have it, or none of our workers can install it.

    The index replaces the wheels of a version that looks final: other wheels are another candidate.
    """
    places = targets()
    wheels = [wheel for wheel in map(release.wheel_for, places) if wheel]
    if not wheels:
        return None
    hashes = release.hashes_for(places)
    existing = TorchBuild.objects.filter(
        channel=TorchBuild.Channel.TEST, version=str(release.version), base=None
    )
    for build in existing:
        if is_same_candidate(build.wheel_hashes, hashes):
            build.wheel_hashes |= hashes
            build.save(update_fields=["wheel_hashes"])
            return None
    label = candidate_label(release.version, hashes)
    if TorchBuild.objects.filter(label=label).exists():
        return None
    channel = TorchBuild.Channel.TEST
    return _save(release, wheels[0], index_url, label=label, channel=channel, wheel_hashes=hashes)


def discover_followed() -> Discovery | None:
    """Look for builds if a track follows the newest; else None, and no index is asked."""
    kinds = (Track.Kind.STABLE, Track.Kind.NIGHTLY, Track.Kind.TEST)
    if not Track.objects.filter(kind__in=kinds).exists():
        return None
    return discover_builds()


def fill_in_facts(*, build: TorchBuild, facts: Document) -> None:
    """Fill in the FACTS that the index did not report and a worker found in the installed build."""
    missing = [key for key in FACTS if not getattr(build, key)]
    fields = {key: str(facts[key]) for key in missing if facts.get(key)}
    if fields:
        TorchBuild.objects.filter(pk=build.pk).update(**fields)


def targets() -> list[Target]:
    """List where builds have to run: our workers' platforms, or this machine's if none reports."""
    from_workers = []
    for text in Worker.objects.values_list("facts__platform", flat=True):
        match = PLATFORM.match(text) if isinstance(text, str) else None
        if match:
            from_workers.append(Target(f"3.{match['minor']}", match["system"], match["machine"]))
    if from_workers:
        return list(dict.fromkeys(from_workers))
    return [Target(f"3.{sys.version_info.minor}", platform.system().lower(), platform.machine())]


def _add(release: Release, index_url: str) -> TorchBuild:
    places = targets()
    wheel = next(filter(None, map(release.wheel_for, places)), None)
    if wheel is None:
        raise BuildError(
            f"torch {release.version} has no wheel for {' or '.join(map(str, places))}, only for "
            f"{release.places}: choose another version, or start a worker under a Python that it "
            "supports."
        )
    label = str(release.version)
    return _save(release, wheel, index_url, label=label, channel=channel_of(label))


def _save(
    release: Release, wheel: Wheel, index_url: str, *, label: str, **other: Any
) -> TorchBuild:
    cuda, triton = cuda_and_triton(wheel, index_url or default_index())
    fields = {
        "version": str(release.version),
        "cuda": cuda,
        "triton": triton,
        "index_url": index_url,
        "python": release.requires_python,
        "released_on": release.released_on,
        **other,
    }
    with transaction.atomic():
        row, _ = TorchBuild.objects.get_or_create(label=label, defaults=fields)
    return row


def _add_new(releases: Iterable[Release], index_url: str) -> list[TorchBuild]:
    existing = set(TorchBuild.objects.values_list("label", flat=True))
    places = targets()
    added = []
    for release in releases:
        can_be_installed = any(map(release.wheel_for, places))
        if str(release.version) not in existing and can_be_installed:
            added.append(_add(release, index_url))
    return added


def _parse_version(version: str) -> Version:
    try:
        parsed = parse_version(version)
    except InvalidVersion:
        raise BuildError(f"{version[:200]!r} is not a version: write it like 2.13.0") from None
    if parsed < Version(OLDEST):
        raise BuildError(f"torch {version} is older than {OLDEST}, the oldest that is measured.")
    return parsed


def ensure_build(name: str, machine: Machine) -> TorchBuild:
    """The build of this name; an unknown release is added from the index. Raises PlanError."""
    try:
        return named_build(name, machine)
    except UnknownBuild:
        return add_build(version=name)
