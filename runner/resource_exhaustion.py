"""Evidence that a job ran out of memory or disk: the kernel's OOM-kill counts, and free disk."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

LITTLE_MB = 50  # a job that met a full disk may have removed its files before it ended


def oom_kill_counts(root: Path = Path("/")) -> dict[str, int]:
    """File in which the kernel counts its out-of-memory kills -> the count.

    They are the files of this process's memory cgroup (v2: memory.events, v1: memory.oom_control),
    and /proc/vmstat for the whole computer. Files that do not exist are left out.
    """
    counts = {}
    for path in [*_cgroup_files(root), root / "proc/vmstat"]:
        with suppress(OSError):
            match = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
            if match:
                counts["/" + str(path.relative_to(root))] = int(match[1])
    return counts


def describe_increase(before: dict[str, int], after: dict[str, int]) -> str:
    """Name the OOM-kill count that rose; empty when none did that can be read."""
    for name, count in after.items():
        increase = count - before.get(name, 0)
        if increase > 0:
            return f"oom_kill in {name} rose by {increase}"
    return ""


def describe_full_disk(folder: Path, needed_mb: int) -> str:
    """A sentence that says how little is free on the disk of `folder`; empty with enough.

    needed_mb: what is free where a job is begun. A disk with that much is not full, however small.
    """
    free_mb = shutil.disk_usage(folder).free // 1000**2
    if free_mb >= max(1, min(LITTLE_MB, needed_mb)):
        return ""
    if free_mb:
        return f"Only {free_mb} MB are free under {folder}: make room. "
    return f"The disk under {folder} is full (0 MB free): make room. "


def _cgroup_files(root: Path) -> list[Path]:
    """List the files where the counts of our own memory cgroup may be.

    A container may see its cgroup at the mount's root instead of at the cgroup's path.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # cgroup v2
            mount, name = root / "sys/fs/cgroup", "memory.events"
        elif controllers == "memory":  # cgroup v1
            mount, name = root / "sys/fs/cgroup/memory", "memory.oom_control"
        else:
            continue
        files += [mount / path.lstrip("/") / name, mount / name]
    return files
