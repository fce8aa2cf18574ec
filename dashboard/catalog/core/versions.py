"""Versions of torch in their order."""

from packaging.version import InvalidVersion, Version


def version_order(version: str) -> tuple[bool, Version]:
    """Sorts versions of torch, oldest first; what is no version comes before all."""
    try:
        return True, Version(version)
    except InvalidVersion:
        return False, Version("0")
