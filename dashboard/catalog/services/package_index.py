"""Asks a package index over HTTP which torch releases there are. Never inside a transaction."""

import os
import re
import subprocess
import sys
from email.parser import HeaderParser
from functools import cache

import httpx
from django.conf import settings
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from dashboard.catalog.core.package_page import PackagePageError, Release, Wheel, parse_releases

ACCEPT = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
PATIENCE_S = 30.0
PUBLIC = "https://pypi.org/simple"
CUDA_RUNTIME = re.compile(r"nvidia-cuda-runtime(-cu\d+)?")


class IndexProblem(Exception):
    """An index did not answer, or not as an index does. The text names it and says what to do."""


def default_index() -> str:
    """PACKAGE_INDEX_URL, else what pip is configured with here, else the public index."""
    return settings.PACKAGE_INDEX_URL or os.environ.get("PIP_INDEX_URL") or _pips_index() or PUBLIC


def torch_releases(index: str) -> dict[Version, Release]:
    """Every torch release on the index that has wheels, oldest first. Raises IndexProblem."""
    address = f"{index.rstrip('/')}/torch/"
    answer = _get(address)
    try:
        releases = parse_releases(
            answer.headers.get("content-type", ""), answer.content, str(answer.url)
        )
    except PackagePageError as error:
        raise IndexProblem(f"{error}. Set PACKAGE_INDEX_URL to an index's simple pages.") from None
    if not releases:
        raise IndexProblem(
            f"{address} lists no wheel of torch: is PACKAGE_INDEX_URL the address of a package "
            "index?"
        )
    return releases


def cuda_and_triton(wheel: Wheel) -> tuple[str, str]:
    """The CUDA and Triton versions that a wheel asks for; empty without metadata on the index."""
    if wheel.metadata_url is None:
        return "", ""
    metadata = HeaderParser().parsestr(_get(wheel.metadata_url).text)
    pinned = dict(filter(None, map(_pinned, metadata.get_all("Requires-Dist", []))))
    cuda = next((version for name, version in pinned.items() if CUDA_RUNTIME.fullmatch(name)), "")
    return ".".join(cuda.split(".")[:2]), pinned.get("triton") or pinned.get("pytorch-triton", "")


def _get(address: str) -> httpx.Response:
    try:
        answer = httpx.get(
            address, headers={"Accept": ACCEPT}, timeout=PATIENCE_S, follow_redirects=True
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise IndexProblem(
            f"{address} does not answer ({reason}): check the network, or set PACKAGE_INDEX_URL "
            "to an index that this machine reaches."
        ) from None
    if answer.status_code != 200:
        raise IndexProblem(
            f"{address} answers {answer.status_code} {answer.reason_phrase}: is "
            "PACKAGE_INDEX_URL the address of an index's simple pages?"
        )
    return answer


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
