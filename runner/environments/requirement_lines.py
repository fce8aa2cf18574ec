"""Requirements as lines for an installer: parsed and printed again, never passed on as text.

A line could be an option, an address or a path, and make the installer take a package from
elsewhere. What the site sends may have come from another worker.
"""

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from runner.site import RequestedEnvironment


class UnsafeRequirement(ValueError):
    """Not a plain requirement. The text quotes it."""


def pinned_lines(text: str) -> str:
    """The set, one `name==version` a line. Raises UnsafeRequirement."""
    lines = []
    for line in filter(None, text.split("\n")):
        name, _, version = line.partition("==")
        try:
            lines.append(f"{canonicalize_name(name, validate=True)}=={Version(version)}\n")
        except ValueError:
            raise UnsafeRequirement(f"{line[:200]!r} is not a line like name==version") from None
    return "".join(lines)


def checked(requested: RequestedEnvironment) -> RequestedEnvironment:
    """The same environment in lines that were parsed. Raises UnsafeRequirement."""
    index = requested.index_url
    if index and (urlsplit(index).scheme not in {"http", "https"} or len(index.split()) > 1):
        raise UnsafeRequirement(f"{index[:200]!r} is not the address of a package index")
    return replace(
        requested,
        requirements=pinned_lines(requested.requirements),
        packages=tuple(_package_lines(requested.packages)),
    )


def _package_lines(packages: Iterable[str]) -> Iterable[str]:
    for line in packages:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            raise UnsafeRequirement(f"{line[:200]!r} is not a requirement") from None
        if requirement.url or requirement.marker:
            raise UnsafeRequirement(f"{line[:200]!r} has an address or a condition")
        yield str(requirement)
