"""Asks a package index over HTTP which torch releases there are. Never inside a transaction."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cache
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from dashboard.accounts.core.public_addresses import NotPublic, is_public, only_public
from dashboard.catalog.core.package_page import PackagePageError, Release, Wheel, parse_releases

ACCEPT = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
PATIENCE_S = 30.0
# Of a page: the public index's of torch has some 2 MB. A slow one ends with it
MOST_BYTES, MOST_S = 32 * 2**20, 60.0
PUBLIC = "https://pypi.org/simple"
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")


@dataclass(frozen=True, slots=True)
class Page:
    """address: where it was in the end."""

    address: str
    content_type: str
    body: bytes


class IndexProblem(Exception):
    """An index did not answer, or not as an index does. The text names it and says what to do."""


def default_index() -> str:
    """PACKAGE_INDEX_URL, else what pip is configured with here, else the public index."""
    return settings.PACKAGE_INDEX_URL or os.environ.get("PIP_INDEX_URL") or _pips_index() or PUBLIC


def torch_releases(index: str) -> dict[Version, Release]:
    """Every torch release on the index that has wheels, oldest first. Raises IndexProblem."""
    address = f"{index.rstrip('/')}/torch/"
    page = _get(address, index)
    try:
        releases = parse_releases(page.content_type, page.body, page.address)
    except PackagePageError as error:
        raise IndexProblem(f"{error}. Set PACKAGE_INDEX_URL to an index's simple pages.") from None
    if not releases:
        raise IndexProblem(
            f"{address} lists no wheel of torch: is PACKAGE_INDEX_URL the address of a package "
            "index?"
        )
    return releases


def cuda_and_triton(wheel: Wheel, index: str) -> tuple[str, str]:
    """The CUDA and Triton versions that a wheel asks for; empty without metadata on the index."""
    if wheel.metadata_url is None:
        return "", ""
    page = _get(wheel.metadata_url, index)
    metadata = HeaderParser().parsestr(page.body.decode(errors="replace"))
    pinned = dict(filter(None, map(_pinned, metadata.get_all("Requires-Dist", []))))
    cuda = next((version for name, version in pinned.items() if CUDA_RUNTIME.fullmatch(name)), "")
    return ".".join(cuda.split(".")[:2]), pinned.get("triton") or pinned.get("pytorch-triton", "")


def _get(address: str, index: str) -> Page:
    """A page of an index, or one that it leads to. Raises IndexProblem.

    A public index leads to no private network; one in a private network is the site's own.
    """
    try:
        with only_public() if _is_public(index) else nullcontext():
            return _read(address)
    except (httpx.HTTPError, httpx.InvalidURL, NotPublic) as error:
        reason = str(error) or type(error).__name__
        raise IndexProblem(
            f"{address} does not answer ({reason}): check the network, or set PACKAGE_INDEX_URL "
            "to an index that this machine reaches."
        ) from None


def _read(address: str) -> Page:
    """Raises IndexProblem, httpx's errors."""
    headers = {"Accept": ACCEPT}
    deadline = time.monotonic() + MOST_S
    with httpx.stream(
        "GET", address, headers=headers, timeout=PATIENCE_S, follow_redirects=True
    ) as answer:
        if answer.status_code != 200:
            raise IndexProblem(
                f"{address} answers {answer.status_code} {answer.reason_phrase}: is "
                "PACKAGE_INDEX_URL the address of an index's simple pages?"
            )
        body = bytearray()
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > MOST_BYTES or time.monotonic() > deadline:
                raise IndexProblem(
                    f"{address} is longer than {MOST_BYTES // 2**20} MiB, or took more than "
                    f"{MOST_S:.0f} s: no page of an index does."
                )
        return Page(str(answer.url), answer.headers.get("content-type", ""), bytes(body))


def _is_public(index: str) -> bool:
    """Test whether an index is outside of private networks, as far as names are resolved here."""
    try:
        infos = socket.getaddrinfo(urlsplit(index).hostname, None)
    except OSError:
        return True
    return all(is_public(str(info[4][0])) for info in infos)


def _pinned(line: str) -> tuple[str, str] | None:
    """The name and version that a requirement pins; None where it leaves the version open."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return None
    for specifier in requirement.specifier:
        if specifier.operator == "==":
            return canonicalize_name(requirement.name), specifier.version
    return None


@cache
def _pips_index() -> str:
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
