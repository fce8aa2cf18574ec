"""Keeps the environments under a disk limit: first what only the installer's cache holds goes, then
the least recently used environment.

Environments share files with each other and with the cache (hard links): a file counts once, for
the most recently used one that has it. So the sum is what they really take, and removing the last
of them gives back its own count.
"""

import os
import subprocess
from pathlib import Path

import structlog

from runner.environments.store import Store
from runner.environments.tools import Tool, Uv, find_tools

GB = 1e9
PATIENCE_S = 300

logger = structlog.get_logger(__name__)


def tidy(store: Store, limit_gb: float) -> None:
    """What a starting worker does: remove what was half made, and keep the limit, which may be a
    new one.
    """
    store.remove_leftovers()
    if store.all():
        make_room(store, limit_gb, find_tools(store.folder))


def make_room(store: Store, limit_gb: float, tools: list[Tool]) -> None:
    """Empty our cache, then evict environments that nobody uses, until the rest takes at most
    `limit_gb`.
    """
    ours = [
        tool for tool in tools if isinstance(tool, Uv) and tool.cache.is_relative_to(store.folder)
    ]
    seen: set[tuple[int, int]] = set()
    sizes = {key: own_bytes(store.folder / key, seen) for key in store.all()}
    cached = sum(own_bytes(tool.cache, seen) for tool in ours)
    total = sum(sizes.values()) + cached
    if total > limit_gb * GB and cached:
        _empty(ours[0])
        total -= cached
    for key, size in reversed(sizes.items()):
        if total <= limit_gb * GB:
            return
        why = (
            f"{total / GB:.1f} GB of environments, {limit_gb:g} GB are allowed "
            "(WORKER_ENVIRONMENTS_GB)"
        )
        if store.evict(key, why):
            logger.info("environment evicted", key=key, why=why)
            total -= size
    if total > limit_gb * GB:
        logger.warning(
            "over the limit with what is in use", gb=round(total / GB, 1), limit_gb=limit_gb
        )


def own_bytes(folder: Path, seen: set[tuple[int, int]]) -> int:
    """Disk taken by the files of a folder that are not in `seen`; they are added to it."""
    taken = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - 20,000 times
            except OSError:
                continue
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                taken += status.st_blocks * 512
    return taken


def _empty(uv: Uv) -> None:
    try:
        subprocess.run(uv.clean(), check=True, capture_output=True, text=True, timeout=PATIENCE_S)
        logger.info("emptied the installer's cache", folder=str(uv.cache))
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning(
            "the installer's cache could not be emptied", folder=str(uv.cache), why=str(error)
        )
