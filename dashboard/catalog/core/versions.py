"""Versions of torch in their order."""

import re
from datetime import datetime

from packaging.version import InvalidVersion, Version

_FLAVOUR = re.compile(r"\+(cpu|cu\d+|rocm[\d.]+|xpu)(?=~|$)")
MOST_CHARACTERS = 200  # of a version: Python reads no number of more than 4,300 digits
BuildOrder = tuple[tuple[bool, Version], bool, bool, datetime]


def parse_version(text: str) -> Version:
    """Raises InvalidVersion."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidVersion(f"a version of {len(text)} characters")
    return Version(text)


def version_order(version: str) -> tuple[bool, Version]:
    """Sorts versions of torch, oldest first; what is not a version comes first."""
    try:
        return True, parse_version(version)
    except InvalidVersion:
        return False, Version("0")


def build_order(label: str, version: str, is_current: bool, first_at: datetime) -> BuildOrder:
    """Sorts the builds of one track, the newest last: by release or nightly, whenever each ran.

    is_current: the track stands at it. Of one version (variants, commits, flavours) that is the
        newest, then come plain builds before variants, each by when it was first measured.

    A commit's digits alone (1234567, 12a3456) would pass for a version.
    """
    public = version.partition("+")[0]
    order = version_order(public if "." in public else "")
    return order, is_current, not variant_of(label), first_at


def channel_of(version: str) -> str:
    """2.14.0.dev20261120: nightly; 2.14.0a0+git1234: built from source; 2.14.0rc1: test; the
    others: releases. As TorchBuild.Channel.
    """
    if ".dev" in version:
        return "nightly"
    if "a0+" in version:
        return "source"
    is_version, parsed = version_order(version)
    return "test" if is_version and parsed.is_prerelease else "release"


def short_label(label: str) -> str:
    """A build's label without its flavour: 2.13.0~scalar of 2.13.0+cu130~scalar."""
    return _FLAVOUR.sub("", label)


def flavour_of(version: str) -> str:
    """Read the flavour of a version: "cpu" of 2.13.0+cpu, "cu130" of 2.14.1+cu130; else empty."""
    return version.partition("+")[2]


def variant_of(label: str) -> str:
    """Read what a build varies from its label: "scalar-8ed43525" of 2.13.0+cpu~scalar-8ed43525;
    empty for a plain build.
    """
    return label.partition("~")[2]


def flavour_note(base: str, new: str, flavours: tuple[str, str]) -> str:
    """Describe what else differs between two builds of these flavours; empty if both are of one
    flavour, or nothing is known of either.
    """
    if flavours[0] == flavours[1]:
        return ""
    if all(flavours):
        return (
            f"{base} and {new} are builds of different flavours ({flavours[0]} and {flavours[1]}): "
            "more than torch's version differs between them."
        )
    return f"Whether {base} and {new} are of one flavour (CPU or CUDA) is not known."


def environment_note(adopted: str, own: str) -> str:
    """Describe what else differs between a build that a worker adopted and one it installed."""
    return (
        f"{adopted} is an interpreter that the worker found, {own} has an environment of its own. "
        "A start imports what else is installed there, so starts can differ by more than torch."
    )
