"""Measurements of each config of one benchmark, release by release: as lines, and as rows. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.comparisons.core.levels import Level, level_intervals

_FINGERPRINT = re.compile(r"-[0-9a-f]{8}$")


@dataclass(frozen=True, slots=True)
class Release:
    """Measurement of one config on one build. status: how it failed, where it brought no number.
    version: of the benchmark; no line leads from one to another.
    """

    build: str
    level: Level | None
    job: str = ""
    status: str = ""
    version: int = 0

    @property
    def is_variant(self) -> bool:
        return "~" in self.build

    @property
    def processes(self) -> int:
        return self.level.n if self.level else 0


class MeasuredRelease(NamedTuple):
    """A release with its value and the ends of its interval, NaN where none is known."""

    release: Release
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """One config over builds, oldest first.

    position: its place in the registry, which decides dash and marker. slot: its colour, which
        `release_figure` chooses.
    """

    name: str
    position: int
    releases: list[Release] = field(default_factory=list)
    slot: int = 0

    @property
    def measured(self) -> list[MeasuredRelease]:
        """The releases that have a number."""
        by_version: dict[int, list[tuple[Release, Level]]] = {}
        for release in self.releases:
            if release.level:
                by_version.setdefault(release.version, []).append((release, release.level))
        points = {}
        for measured in by_version.values():
            intervals = level_intervals([level for _, level in measured])
            for (release, level), (low, high) in zip(measured, intervals, strict=True):
                points[release.build] = MeasuredRelease(release, level.value, low, high)
        return [points[release.build] for release in self.releases if release.build in points]


def measured_labels(lines: Sequence[ReleaseLine]) -> set[str]:
    """The builds that one of the lines measured, or failed on."""
    labels: set[str] = set()
    for line in lines:
        labels.update(release.build for release in line.releases)
    return labels


def short_names(builds: Sequence[str]) -> dict[str, str]:
    """A name that is enough to distinguish each build, by label.

    It lacks the fingerprint of a variant's settings, and the local version (+cu130) where all have
    the same.
    """
    local_versions = {build.partition("~")[0].partition("+")[2] for build in builds}
    names = {}
    for build in builds:
        base, tilde, variant = build.partition("~")
        if len(local_versions) == 1:
            base = base.partition("+")[0]
        names[build] = f"{base}{tilde}{_FINGERPRINT.sub('', variant)}"

    counts = Counter(names.values())
    return {build: name if counts[name] == 1 else build for build, name in names.items()}
