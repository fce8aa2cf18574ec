"""The files that an environment had when it was made, to see later whether it still has them.

Each file's size and time are compared: a third of a second for torch with its libraries (20,000
files); contents are not read. Compiled bytecode is left out: Python itself rewrites it. Files that
were added are not damage.
"""

import os
from collections.abc import Iterator
from pathlib import Path

NAME = "manifest.txt"
MAX_NAMED = 3


def write(folder: Path) -> int:
    """List every file of the environment; their bytes, shared files included."""
    lines = []
    size_bytes = 0
    for path, status in _files(folder):
        lines.append(f"{status.st_size} {status.st_mtime_ns} {path.relative_to(folder)}")
        size_bytes += status.st_size
    (folder / NAME).write_text("\n".join(lines) + "\n")
    return size_bytes


def describe_damage(folder: Path) -> str:
    """Name the files that are missing or changed; empty when all are as they were made."""
    try:
        lines = (folder / NAME).read_text().splitlines()
    except (OSError, ValueError):
        return f"{NAME} cannot be read"
    damaged = []
    if not (folder / "bin" / "python").exists():  # a link to an interpreter that is gone
        damaged.append("bin/python")
    for line in lines:
        if not _is_unchanged(folder, line):
            damaged.append(line.rpartition(" ")[2])
    if not damaged:
        return ""
    names = ", ".join(damaged[:MAX_NAMED])
    if len(damaged) > MAX_NAMED:
        names += f" and {len(damaged) - MAX_NAMED} more"
    return f"missing or changed: {names}"


def _is_unchanged(folder: Path, line: str) -> bool:
    size, time, name = line.split(" ", 2)
    try:
        # It is called 20,000 times, and Path costs half a second
        status = os.lstat(os.path.join(folder, name))  # noqa: PTH118
    except OSError:
        return False
    return status.st_size == int(size) and status.st_mtime_ns == int(time)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in sorted(names):
            path = Path(root, name)
            if not path.is_symlink():
                yield path, path.stat()
