"""What this computer can say about why a process died: the kernel's counts of out-of-memory kills,
and free disk.
"""

import re
import shutil
from contextlib import suppress
from pathlib import Path

FULL_DISK_MB = 50


def oom_kills(root: Path = Path("/")) -> dict[str, int]:
    """Where the kernel counts the processes it killed for memory -> the count. Files that are not
    there are left out.

    The memory cgroup of this process (v2: memory.events, v1: memory.oom_control), and /proc/vmstat
    for the computer.
    """
    sources = [*_cgroup_files(root), root / "proc/vmstat"]
    counts = {}
    for path in sources:
        with suppress(OSError):
            if found := re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE):
                counts["/" + str(path.relative_to(root))] = int(found[1])
    return counts


def risen(before: dict[str, int], after: dict[str, int]) -> str:
    """Which count rose, in words; empty when none did: then the kernel killed nothing for
    memory.
    """
    rises = (
        f"oom_kill in {name} rose by {count - before.get(name, 0)}"
        for name, count in after.items()
        if count > before.get(name, 0)
    )
    return next(rises, "")


def full_disk(folder: Path) -> str:
    """Says that the disk is full, in words; empty when it is not."""
    free_mb = shutil.disk_usage(folder).free // 1024**2
    return (
        f"The disk under {folder} is full ({free_mb} MB free): make room. "
        if free_mb < FULL_DISK_MB
        else ""
    )


def _cgroup_files(root: Path) -> list[Path]:
    """Where our own memory cgroup may lie. A container may see it at the mount's root instead of at
    its path.
    """
    files = []
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            mount, name = (
                ("sys/fs/cgroup", "memory.events")
                if not controllers
                else ("sys/fs/cgroup/memory", "memory.oom_control")
            )
            if controllers in {"", "memory"}:
                files += [root / mount / path.lstrip("/") / name, root / mount / name]
    return files
