"""Keeps the environments under a disk limit.

First what only the installer's cache holds is removed, then the least recently used environments.
Environments share files with each other and with the cache (hard links): a file counts once, for
the most recently used one that has it. So the sum is what they really take, and removing the last
of them gives back its own count.
"""

import os
import subprocess
from pathlib import Path

import structlog

from runner.environments.package_managers import PackageManager, Uv, find_package_managers
from runner.environments.store import EnvironmentStore

GB = 1e9
PATIENCE_S = 300

logger = structlog.get_logger(__name__)


def clean_up(store: EnvironmentStore, limit_gb: float) -> None:
    """At the worker's start: remove what was half made, and enforce the limit, which may be new."""
    store.remove_leftovers()
    if store.all():
        enforce_disk_limit(store, limit_gb, find_package_managers(store.folder))


def enforce_disk_limit(
    store: EnvironmentStore, limit_gb: float, managers: list[PackageManager]
) -> None:
    """Empty our cache, then evict unused environments, until the rest takes at most `limit_gb`."""
    seen: set[tuple[int, int]] = set()
    sizes = {key: count_new_bytes(store.folder / key, seen) for key in store.all()}
    total = sum(sizes.values())
    limit = limit_gb * GB
    for manager in managers:
        # A cache elsewhere is not ours to count and to empty
        if isinstance(manager, Uv) and manager.cache.is_relative_to(store.folder):
            cached = count_new_bytes(manager.cache, seen)
            if cached and total + cached > limit:
                _empty_cache(manager)
            else:
                total += cached
    for key, size in reversed(sizes.items()):
        if total <= limit:
            return
        why = (
            f"{total / GB:.1f} GB of environments, {limit_gb:g} GB are allowed "
            "(WORKER_ENVIRONMENTS_GB)"
        )
        if store.evict(key, why):
            logger.info("environment evicted", key=key, why=why)
            total -= size
    if total > limit:
        logger.warning(
            "over the limit with what is in use", gb=round(total / GB, 1), limit_gb=limit_gb
        )


def count_new_bytes(folder: Path, seen: set[tuple[int, int]]) -> int:
    """Disk taken by the files of a folder that are not in `seen`; they are added to it."""
    taken = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.lstat(os.path.join(root, name))  # noqa: PTH118 - 20,000 times
            except OSError:
                continue
            identity = (status.st_dev, status.st_ino)
            if identity not in seen:
                seen.add(identity)
                taken += status.st_blocks * 512
    return taken


def _empty_cache(uv: Uv) -> None:
    command = uv.clean_cache()
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
        logger.info("emptied the installer's cache", folder=str(uv.cache))
    except (OSError, subprocess.SubprocessError) as error:
        logger.warning(
            "the installer's cache could not be emptied", folder=str(uv.cache), why=str(error)
        )
