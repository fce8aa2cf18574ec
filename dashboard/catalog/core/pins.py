"""Libraries that go with each torch: one table with ranges, and what follows from it. Pure.

A range is what the library's own metadata and start-up checks ask of torch (`Requires-Dist:
torch>=…` of its extra `torch`, "Disabling PyTorch because …"), torchvision's is the exact pair, and
numpy 2 needs a torch built for it (2.3). Each row was resolved for Python 3.11. docs/builds.md says
how to add one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from dashboard.catalog.core.versions import parse_version

OLDEST = "2.1"  # what the suite runs on
# In every environment that we make; the others when they are asked for
ALWAYS = ("numpy", "transformers", "diffusers")
# What a family's models need beyond them
OF_FAMILY = {"field-timm": ("timm", "torchvision"), "field-torchvision": ("torchvision",)}
BUILD_TOOLS = ("setuptools<82",)  # torch's C++ builds import it; torch refuses later ones


class PinError(ValueError):
    """No set of libraries goes with this; the text says what is wrong and what there is."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One release of a library, and the torch releases that it goes with."""

    library: str
    version: str
    torch: str  # a version specifier

    def takes(self, torch: Version) -> bool:
        """A nightly counts as the release that it is on the way to."""
        return Version(torch.base_version) in SpecifierSet(self.torch)


# Newest first within a library.
PINS = (
    Pin("numpy", "2.4.6", ">=2.3"),
    Pin("numpy", "1.26.4", ">=2.1"),
    Pin("transformers", "5.23.0", ">=2.6"),
    Pin("transformers", "5.19.0", ">=2.5"),
    Pin("transformers", "5.14.1", ">=2.4"),
    Pin("transformers", "4.57.6", ">=2.2"),
    Pin("transformers", "4.55.4", ">=2.1"),
    Pin("diffusers", "0.42.1", ">=2.6"),
    Pin("diffusers", "0.38.0", ">=2.1"),
    Pin("timm", "1.0.31", ">=2.1"),
    Pin("torchao", "0.18.0", ">=2.11"),
    Pin("torchao", "0.16.0", ">=2.9"),
    Pin("torchao", "0.13.0", ">=2.8,<2.9"),
    Pin("torchvision", "0.29.2", ">=2.14.1"),
    Pin("torchvision", "0.29.0", "==2.14.0"),
    Pin("torchvision", "0.28.0", "==2.13.*"),
    Pin("torchvision", "0.27.1", "==2.12.1"),
    Pin("torchvision", "0.27.0", "==2.12.0"),
    Pin("torchvision", "0.26.0", "==2.11.*"),
    Pin("torchvision", "0.25.0", "==2.10.*"),
    Pin("torchvision", "0.24.1", "==2.9.1"),
    Pin("torchvision", "0.24.0", "==2.9.0"),
    Pin("torchvision", "0.23.0", "==2.8.*"),
    Pin("torchvision", "0.22.1", "==2.7.1"),
    Pin("torchvision", "0.22.0", "==2.7.0"),
    Pin("torchvision", "0.21.0", "==2.6.*"),
    Pin("torchvision", "0.20.1", "==2.5.1"),
    Pin("torchvision", "0.20.0", "==2.5.0"),
    Pin("torchvision", "0.19.1", "==2.4.1"),
    Pin("torchvision", "0.19.0", "==2.4.0"),
    Pin("torchvision", "0.18.1", "==2.3.1"),
    Pin("torchvision", "0.18.0", "==2.3.0"),
    Pin("torchvision", "0.17.2", "==2.2.2"),
    Pin("torchvision", "0.17.1", "==2.2.1"),
    Pin("torchvision", "0.17.0", "==2.2.0"),
    Pin("torchvision", "0.16.2", "==2.1.2"),
    Pin("torchvision", "0.16.1", "==2.1.1"),
    Pin("torchvision", "0.16.0", "==2.1.0"),
)


def newest_set(torch: str) -> dict[str, str]:
    """The newest libraries that this torch takes: library -> version. Raises PinError."""
    return shared_set(torch)


def family_libraries(torch: str, family: str) -> dict[str, str]:
    """Find what the models of this family need beyond `newest_set`: library -> version.

    Raises PinError.
    """
    version = _parse_torch(torch)
    return {library: _newest(library, [version]) for library in OF_FAMILY.get(family, ())}


def shared_set(*torches: str) -> dict[str, str]:
    """The newest libraries that all these torch versions take: only torch differs.

    Raises PinError.
    """
    versions = [_parse_torch(torch) for torch in torches]
    return {library: _newest(library, versions) for library in ALWAYS}


def changed_libraries(
    before: Mapping[str, str], after: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Find where two library sets differ: library -> (before, after); empty: not in that set."""
    changes = {}
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            changes[name] = (old, new)
    return changes


def needs_bridge(before: Mapping[str, str], after: Mapping[str, str]) -> bool:
    """Test whether comparing numbers under the two sets needs one build measured under both."""
    return bool(changed_libraries(before, after))


def requirement_lines(torch: str, libraries: Mapping[str, str]) -> list[str]:
    """List what an environment of this torch with these libraries is resolved from.

    Raises PinError.
    """
    pinned = [pinned_line(name, version) for name, version in sorted(libraries.items())]
    return [pinned_line("torch", torch), *pinned, *BUILD_TOOLS]


def pinned_line(name: str, version: str) -> str:
    """`name==version`, both parsed and printed again: neither can be an option or a second line.

    Raises PinError.
    """
    try:
        return f"{canonicalize_name(name, validate=True)}=={parse_version(version)}"
    except (InvalidName, InvalidVersion):
        raise PinError(f"{f'{name}=={version}'[:200]!r} is not a name and a version") from None


def _newest(library: str, torches: Sequence[Version]) -> str:
    for pin in PINS:
        if pin.library == library and all(map(pin.takes, torches)):
            return pin.version
    raise PinError(
        f"No {library} goes with torch {' and '.join(map(str, torches))}: add a row to "
        "dashboard/catalog/core/pins.py, or choose builds that lie closer together."
    )


def _parse_torch(torch: str) -> Version:
    try:
        version = parse_version(torch)
    except InvalidVersion:
        raise PinError(f"{torch[:200]!r} is not a version of torch: write it like 2.13.0") from None
    if version < Version(OLDEST):
        raise PinError(f"torch {torch} is older than {OLDEST}, the oldest that is measured.")
    return version
