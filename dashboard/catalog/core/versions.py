"""Versions of torch in their order."""

from packaging.version import InvalidVersion, Version


def version_order(version: str) -> tuple[bool, Version]:
    """Sorts versions of torch, oldest first; what is not a version comes first."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, Version("0")
