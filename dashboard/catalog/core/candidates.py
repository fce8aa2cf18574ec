"""Release candidates: what a test index has that is not released yet, and what it is called. Pure.

A test index (`https://download.pytorch.org/whl/test`) has every version that was ever tested. Its
candidates are called 2.16.0rc1, or already have the final version: then the next candidate
replaces the wheels of the one before under the same name, and only the wheels' hashes tell them
apart.
"""

from collections.abc import Iterable, Mapping

from packaging.version import Version

from dashboard.catalog.core.package_page import Release

HASH_DIGITS = 8
NO_HASH = "test"


def newest_candidates(releases: Iterable[Release], newest_release: Version) -> list[Release]:
    """Find the newest candidate of each version newer than the newest release, oldest first."""
    newest: dict[tuple[int, ...], Release] = {}
    for release in sorted(releases, key=lambda each: each.version):
        is_newer = Version(release.version.public) > Version(newest_release.public)
        if is_newer and not release.version.is_devrelease:
            newest[release.version.release] = release
    return list(newest.values())


def is_same_candidate(stored: Mapping[str, str], on_index: Mapping[str, str]) -> bool:
    """Test whether the index has the wheels that were seen before, by file and SHA-256.

    Wheels for other Pythons may come later. An index replaces the wheels of a candidate one after
    the other: the first that differs is another candidate. Without hashes, stored or on the index,
    they are taken for the same.
    """
    if not stored or not on_index:
        return True
    both = stored.keys() & on_index.keys()
    return bool(both) and all(stored[file] == on_index[file] for file in both)


def candidate_label(version: Version, hashes: Mapping[str, str]) -> str:
    """2.16.0rc1; of a version that looks final with the beginning of a wheel's SHA-256, as
    2.16.0@1a2b3c4d+cpu: the release itself will have its version alone.

    hashes: by file. Without one it ends in @test, and the candidates of one version cannot be told
    apart.
    """
    if version.is_prerelease:
        return str(version)
    mark = min(hashes.values(), default=NO_HASH)[:HASH_DIGITS]
    local = f"+{version.local}" if version.local else ""
    return f"{version.public}@{mark}{local}"
