"""Torch builds: added by version, found on an index, varied by environment variables and Inductor
settings.
"""

import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from packaging.version import InvalidVersion, Version

from dashboard.catalog.core.package_page import Release, Target
from dashboard.catalog.core.pins import OLDEST
from dashboard.catalog.core.plan import PlanError, check_variant, hint
from dashboard.catalog.selectors.lookups import UnknownBuild, named_build
from dashboard.catalog.services.package_index import (
    IndexProblem,
    cuda_and_triton,
    default_index,
    torch_releases,
)
from dashboard.models import Machine, TorchBuild, Track, Worker

NAME_LENGTH = 40
NAME = re.compile(rf"[a-z0-9][a-z0-9_.-]{{0,{NAME_LENGTH - 1}}}")
PLATFORM = re.compile(r"(?P<system>[a-z]+)_(?P<machine>\w+)-cp3(?P<minor>\d+)")
FINGERPRINT_DIGITS = 8

logger = structlog.get_logger(__name__)


class BuildError(PlanError):
    """A build that cannot be added; the text says why, and what there is instead."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """What a look at the indexes brought. problems: one text for each index that could not be
    asked.
    """

    added: list[TorchBuild] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def add_build(*, version: str, index_url: str = "") -> TorchBuild:
    """Add the torch build of this version, as the index describes it; the one that is there, if it
    is there already.

    index_url: of the index that has it; empty: the site's own (PACKAGE_INDEX_URL). CUDA, Triton and
        git sha that the
    index does not tell are filled in by the first worker that installs it. Raises BuildError: no
    such version (the text names near ones), no wheel for any of our workers, an index that does not
    answer.
    """
    wanted = _parsed(version)
    existing = TorchBuild.objects.filter(label=str(wanted)).first()
    if existing is not None:
        return existing
    try:
        known = torch_releases(index_url or default_index())
        release = known.get(wanted)
        if release is None:
            raise BuildError(
                f"There is no torch {version}. {hint(str(wanted), [str(each) for each in known])}"
            )
        return _add(release, index_url)
    except IndexProblem as problem:
        raise BuildError(str(problem)) from None


def add_variant(
    *,
    base: TorchBuild,
    name: str,
    env: Mapping[str, str] | None = None,
    inductor: Mapping[str, Any] | None = None,
) -> TorchBuild:
    """Add a variant: `base` run with these environment variables and attributes of
    torch._inductor.config.

    Its label carries a fingerprint of the two, so that the same name with other settings is another
    build; the same variant again is the one that is there. Raises BuildError: a bad name, a setting
    that job.v1 does not allow.
    """
    if not NAME.fullmatch(name):
        raise BuildError(
            f"{name!r} is no name of a variant: use up to {NAME_LENGTH} lower-case letters, "
            "digits and . _ -"
        )
    if base.base_id is not None:
        raise BuildError(f"{base} is a variant itself: vary its base, {base.base}.")
    variant = {key: dict(value) for key, value in (("env", env), ("inductor", inductor)) if value}
    if not variant:
        raise BuildError("A variant needs at least one environment variable or Inductor setting.")
    check_variant(variant)
    same = {
        key: getattr(base, key)
        for key in ("version", "git_sha", "cuda", "triton", "channel", "released_on")
    }
    where = {key: getattr(base, key) for key in ("python", "index_url", "adopted")}
    defaults = {"base": base, "variant": variant, **same, **where}
    return TorchBuild.objects.get_or_create(
        label=variant_label(base.label, name, variant), defaults=defaults
    )[0]


def settings_name(variant: Mapping[str, Any]) -> str:
    """A name for a variant that nobody has named, from what it sets: "cudagraphs",
    "no-epilogue_fusion.threads-4".
    """
    told = {key: value for part in variant.values() for key, value in part.items()}
    parts = (_setting(key.rpartition(".")[2], value) for key, value in sorted(told.items()))
    return (
        re.sub(r"[^a-z0-9_.-]+", "-", ".".join(parts).lower())[:NAME_LENGTH].strip("-._")
        or "settings"
    )


def _setting(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"no-{name}"
    return f"{name}-{value}"


def variant_label(base: str, name: str, variant: Mapping[str, Any]) -> str:
    """Of a variant's build: the base's label, the name, and the first 8 hex digits of the SHA-256
    of its settings.
    """
    told = json.dumps(variant, sort_keys=True, separators=(",", ":"))
    return f"{base}~{name}-{hashlib.sha256(told.encode()).hexdigest()[:FINGERPRINT_DIGITS]}"


def discover_builds(*, index: str = "", nightly_index: str = "") -> Discovered:
    """Add every release that the indexes have and we do not: from OLDEST on, with a wheel for one
    of our workers.

    index, nightly_index: empty for PACKAGE_INDEX_URL and NIGHTLY_INDEX_URL; without the latter no
    nightlies are asked for, and of nightlies only those of the newest day are added. An index that
    does not answer is told in `problems`.
    """
    found = Discovered()
    asked = [
        (index or default_index(), index, False),
        (nightly_index or settings.NIGHTLY_INDEX_URL, None, True),
    ]
    for address, index_url, is_nightly in asked:
        if not address:
            continue
        try:
            new = (
                _newest_nightly(torch_releases(address))
                if is_nightly
                else _measurable(torch_releases(address))
            )
            found.added.extend(_add_new(new, address if index_url is None else index_url))
        except IndexProblem as problem:
            found.problems.append(str(problem))
    logger.info("indexes asked for torch builds", added=len(found.added), problems=found.problems)
    return found


def indexes() -> list[str]:
    """The addresses that discover_builds asks."""
    return [address for address in (default_index(), settings.NIGHTLY_INDEX_URL) if address]


def discover_followed() -> Discovered | None:
    """Look for builds where a track follows the newest; None where there is none: then nobody is
    asked.
    """
    kinds = (Track.Kind.STABLE, Track.Kind.NIGHTLY)
    return discover_builds() if Track.objects.filter(kind__in=kinds).exists() else None


def learn(*, build: TorchBuild, facts: Mapping[str, Any]) -> None:
    """Fill in what the index did not tell and a worker found in the installed build: git_sha, cuda,
    triton.
    """
    told = {
        key: str(facts[key])
        for key in ("git_sha", "cuda", "triton")
        if facts.get(key) and not getattr(build, key)
    }
    if told:
        TorchBuild.objects.filter(pk=build.pk).update(**told)


def targets() -> list[Target]:
    """Where builds have to run: the platforms of our workers; this machine while no worker has told
    its own.
    """
    told = Worker.objects.values_list("facts__platform", flat=True)
    found = [PLATFORM.match(each) for each in told if isinstance(each, str)]
    known = [
        Target(f"3.{each['minor']}", each["system"], each["machine"]) for each in found if each
    ]
    here = Target(f"3.{sys.version_info.minor}", platform.system().lower(), platform.machine())
    return list(dict.fromkeys(known)) or [here]


def _add(release: Release, index_url: str) -> TorchBuild:
    wanted = targets()
    wheel = next(filter(None, map(release.wheel_for, wanted)), None)
    if wheel is None:
        places = " or ".join(map(str, wanted))
        raise BuildError(
            f"torch {release.version} has no wheel for {places}, only for {release.places}: "
            "choose another "
            "version, or start a worker under a Python that it supports."
        )
    cuda, triton = cuda_and_triton(wheel)
    version = str(release.version)
    row = TorchBuild(
        label=version,
        version=version,
        cuda=cuda,
        triton=triton,
        index_url=index_url,
        python=release.requires_python,
        channel=TorchBuild.Channel.NIGHTLY
        if release.version.is_devrelease
        else TorchBuild.Channel.RELEASE,
        released_on=release.released_on,
    )
    with transaction.atomic():
        return TorchBuild.objects.get_or_create(label=version, defaults=_fields(row))[0]


def _fields(row: TorchBuild) -> dict[str, Any]:
    names = ("version", "cuda", "triton", "index_url", "python", "channel", "released_on")
    return {name: getattr(row, name) for name in names}


def _measurable(known: Mapping[Version, Release]) -> list[Release]:
    return [
        each
        for each in known.values()
        if each.version >= Version(OLDEST) and not each.version.is_prerelease
    ]


def _newest_nightly(known: Mapping[Version, Release]) -> list[Release]:
    nightlies = [each for each in known.values() if each.version.is_devrelease]
    return nightlies[-1:]


def _add_new(candidates: Iterable[Release], index_url: str) -> list[TorchBuild]:
    known, wanted = set(TorchBuild.objects.values_list("label", flat=True)), targets()
    new = [
        each
        for each in candidates
        if str(each.version) not in known and any(map(each.wheel_for, wanted))
    ]
    return [_add(each, index_url) for each in new]


def _parsed(version: str) -> Version:
    try:
        parsed = Version(version)
    except InvalidVersion:
        raise BuildError(f"{version!r} is no version: write it like 2.13.0") from None
    if parsed < Version(OLDEST):
        raise BuildError(f"torch {version} is older than {OLDEST}, the oldest that is measured.")
    return parsed


def ensure_build(name: str, machine: Machine) -> TorchBuild:
    """The build of this name; a release that the site does not know is added from the index. Raises
    PlanError.
    """
    try:
        return named_build(name, machine)
    except UnknownBuild:
        return add_build(version=name)
