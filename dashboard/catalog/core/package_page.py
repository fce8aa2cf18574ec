"""Reads a project's page of a package index: releases and their wheels. Pure.

The page is JSON (PEP 691) or HTML (PEP 503).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urljoin

import orjson
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from dashboard.language.contracts import Document

SHA256 = re.compile(r"[0-9a-f]{64}")


class PackagePageError(ValueError):
    """A page that is not a package index's; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Platform on which a wheel has to run; system and machine as `platform` names them."""

    python: str  # as 3.11
    system: str = "linux"
    machine: str = "x86_64"

    def __str__(self) -> str:
        return f"Python {self.python} on {self.system} {self.machine}"

    def fits(self, tag: Tag) -> bool:
        """Test whether a wheel with this tag can be installed there."""
        if tag.interpreter not in {f"cp{self.python.replace('.', '')}", "py3"}:
            return False
        if tag.abi.endswith("t"):  # free-threaded
            return False
        system = {"darwin": "macosx", "windows": "win"}.get(self.system, self.system)
        is_machine = system in tag.platform and tag.platform.endswith(self.machine)
        return is_machine or tag.platform == "any"


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel of a release. file: its name."""

    file: str
    version: Version
    tags: frozenset[Tag]
    requires_python: str
    uploaded_on: date | None
    metadata_url: str | None  # of its METADATA alone (PEP 658), where the index offers that
    sha256: str = ""  # of the file, where the index reports it


@dataclass(frozen=True, slots=True)
class Release:
    """One version with its wheels."""

    version: Version
    wheels: tuple[Wheel, ...]

    @property
    def released_on(self) -> date | None:
        """The day of its first file, where the index reports it."""
        days = [wheel.uploaded_on for wheel in self.wheels if wheel.uploaded_on]
        return min(days, default=None)

    @property
    def requires_python(self) -> str:
        for wheel in self.wheels:
            if wheel.requires_python:
                return wheel.requires_python
        return ""

    @property
    def places(self) -> str:
        """Pythons and platforms of its wheels: cp39, cp310 on win_amd64, manylinux_2_28_x86_64."""
        interpreters, platforms = set(), set()
        for wheel in self.wheels:
            for tag in wheel.tags:
                interpreters.add(tag.interpreter)
                platforms.add(tag.platform)
        oldest_first = sorted(interpreters, key=lambda name: (len(name), name))
        return f"{', '.join(oldest_first)} on {', '.join(sorted(platforms))}"

    def wheel_for(self, target: Target) -> Wheel | None:
        for wheel in self.wheels:
            if any(map(target.fits, wheel.tags)):
                return wheel
        return None

    def hashes_for(self, targets: Iterable[Target]) -> dict[str, str]:
        """File -> SHA-256 of the wheels for these places, where the index reports them."""
        wheels = map(self.wheel_for, targets)
        return {wheel.file: wheel.sha256 for wheel in wheels if wheel and wheel.sha256}


def parse_releases(content_type: str, body: bytes, address: str) -> dict[Version, Release]:
    """The releases that have wheels, oldest first. Raises PackagePageError.

    Withdrawn ("yanked") files do not count.
    """
    read_files = _json_files if "json" in content_type else _html_files
    wheels: dict[Version, list[Wheel]] = defaultdict(list)
    for file in read_files(body, address):
        wheel = None if file.get("yanked") else _wheel(file)
        if wheel is not None:
            wheels[wheel.version].append(wheel)
    return {version: Release(version, tuple(wheels[version])) for version in sorted(wheels)}


def _json_files(body: bytes, address: str) -> Sequence[Document]:
    try:
        files = orjson.loads(body)["files"]
        return [{**file, "url": urljoin(address, file["url"])} for file in files]
    except (ValueError, KeyError, TypeError) as error:
        raise PackagePageError(f"{address} is not a page of a package index: {error!r}") from None


def _html_files(body: bytes, address: str) -> Sequence[Document]:
    parser = _Anchors()
    parser.feed(body.decode(errors="replace"))
    files = []
    for attributes, text in parser.links:
        if not attributes.get("href"):
            continue
        url, fragment = urldefrag(urljoin(address, attributes["href"]))
        name, _, digest = fragment.partition("=")
        files.append(
            {
                "filename": text.strip(),
                "url": url,
                "hashes": {name: digest},
                "requires-python": attributes.get("data-requires-python"),
                "upload-time": attributes.get("data-upload-time"),
                "yanked": "data-yanked" in attributes,
                "core-metadata": "data-core-metadata" in attributes,
                "dist-info-metadata": "data-dist-info-metadata" in attributes,
            }
        )
    return files


class _Anchors(HTMLParser):
    """Collects the links of a page: their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[dict[str, str], str]] = []
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self._is_open = tag == "a"
        if self._is_open:
            self.links.append(({name: value or "" for name, value in attrs}, ""))

    def handle_data(self, data: str) -> None:
        if self._is_open:
            attributes, text = self.links[-1]
            self.links[-1] = (attributes, text + data)

    def handle_endtag(self, tag: str) -> None:
        self._is_open = False


def _wheel(file: Document) -> Wheel | None:
    """None for what is not a wheel: source archives, old formats, names that no rule allows."""
    try:
        _, version, _, tags = parse_wheel_filename(str(file["filename"]))
    except ValueError:  # or a number of too many digits
        return None
    has_metadata = file.get("core-metadata") or file.get("dist-info-metadata")
    return Wheel(
        file=str(file["filename"]),
        version=version,
        tags=tags,
        requires_python=str(file.get("requires-python") or "")[:80],
        uploaded_on=_day(file.get("upload-time")),
        metadata_url=f"{file['url']}.metadata" if has_metadata else None,
        sha256=_sha256(file.get("hashes")),
    )


def _sha256(hashes: Any) -> str:
    digest = hashes.get("sha256") if isinstance(hashes, dict) else None
    return digest if isinstance(digest, str) and SHA256.fullmatch(digest) else ""


def _day(moment: Any) -> date | None:
    try:
        return datetime.fromisoformat(str(moment)).date()
    except ValueError:
        return None
