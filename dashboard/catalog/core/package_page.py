"""A project's page of a package index, in JSON (PEP 691) or HTML (PEP 503), to its releases and
their wheels. Pure.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urldefrag, urljoin

import orjson
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version


class PageError(ValueError):
    """A page that is none of a package index; the text says what it is instead."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a wheel has to run: a Python such as 3.11, a system and a machine as `platform` names
    them.
    """

    python: str
    system: str = "linux"
    machine: str = "x86_64"

    def __str__(self) -> str:
        return f"Python {self.python} on {self.system} {self.machine}"

    def fits(self, tag: Tag) -> bool:
        """Whether a wheel with this tag can be installed there."""
        is_python = tag.interpreter in {f"cp{self.python.replace('.', '')}", "py3"}
        system = {"darwin": "macosx", "windows": "win"}.get(self.system, self.system)
        is_machine = system in tag.platform and tag.platform.endswith(self.machine)
        return is_python and (is_machine or tag.platform == "any") and not tag.abi.endswith("t")


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel of a release. metadata_url: its METADATA alone (PEP 658), where the index offers
    that.
    """

    version: Version
    tags: frozenset[Tag]
    requires_python: str
    uploaded_on: date | None
    metadata_url: str | None


@dataclass(frozen=True, slots=True)
class Release:
    """One version with its wheels."""

    version: Version
    wheels: tuple[Wheel, ...]

    @property
    def released_on(self) -> date | None:
        """The day of its first file, where the index tells."""
        return min((wheel.uploaded_on for wheel in self.wheels if wheel.uploaded_on), default=None)

    @property
    def requires_python(self) -> str:
        return next((wheel.requires_python for wheel in self.wheels if wheel.requires_python), "")

    @property
    def places(self) -> str:
        """What it has wheels for: cp39, cp310 on win_amd64, manylinux_2_28_x86_64."""
        tags = {tag for wheel in self.wheels for tag in wheel.tags}
        pythons = sorted({tag.interpreter for tag in tags}, key=lambda name: (len(name), name))
        return f"{', '.join(pythons)} on {', '.join(sorted({tag.platform for tag in tags}))}"

    def wheel_for(self, target: Target) -> Wheel | None:
        return next((wheel for wheel in self.wheels if any(map(target.fits, wheel.tags))), None)


def releases(content_type: str, body: bytes, address: str) -> dict[Version, Release]:
    """The releases that have wheels, oldest first; withdrawn ("yanked") files do not count. Raises
    PageError.
    """
    files = _json_files(body, address) if "json" in content_type else _html_files(body, address)
    wheels: dict[Version, list[Wheel]] = defaultdict(list)
    for file in files:
        wheel = None if _is_yanked(file) else _wheel(file)
        if wheel is not None:
            wheels[wheel.version].append(wheel)
    return {version: Release(version, tuple(wheels[version])) for version in sorted(wheels)}


def _json_files(body: bytes, address: str) -> Sequence[Mapping[str, Any]]:
    try:
        files = orjson.loads(body)["files"]
        return [{**file, "url": urljoin(address, file["url"])} for file in files]
    except (ValueError, KeyError, TypeError) as error:
        raise PageError(f"{address} is no page of a package index: {error!r}") from None


def _html_files(body: bytes, address: str) -> Sequence[Mapping[str, Any]]:
    parser = _Anchors()
    parser.feed(body.decode(errors="replace"))
    return [
        {
            "filename": text.strip(),
            "url": urldefrag(urljoin(address, values["href"])).url,
            "requires-python": values.get("data-requires-python"),
            "upload-time": values.get("data-upload-time"),
            "yanked": "data-yanked" in values,
            "core-metadata": "data-core-metadata" in values or "data-dist-info-metadata" in values,
        }
        for values, text in parser.found
        if values.get("href")
    ]


class _Anchors(HTMLParser):
    """Collects the links of a page with their attributes and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str], str]] = []
        self._is_open = False

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        self._is_open = tag == "a"
        if self._is_open:
            self.found.append(({name: value or "" for name, value in attrs}, ""))

    def handle_data(self, data: str) -> None:
        if self._is_open:
            values, text = self.found[-1]
            self.found[-1] = (values, text + data)

    def handle_endtag(self, tag: str) -> None:
        self._is_open = False


def _is_yanked(file: Mapping[str, Any]) -> bool:
    return bool(file.get("yanked"))


def _wheel(file: Mapping[str, Any]) -> Wheel | None:
    """None for what is no wheel: source archives, old formats, names that no rule allows."""
    try:
        _, version, _, tags = parse_wheel_filename(str(file["filename"]))
    except InvalidWheelFilename:
        return None
    offers = file.get("core-metadata") or file.get("dist-info-metadata")
    return Wheel(
        version=version,
        tags=tags,
        requires_python=str(file.get("requires-python") or "")[:80],
        uploaded_on=_day(file.get("upload-time")),
        metadata_url=f"{file['url']}.metadata" if offers else None,
    )


def _day(moment: Any) -> date | None:
    try:
        return datetime.fromisoformat(str(moment)).date()
    except ValueError:
        return None
