"""What files an environment had when it was made: a look at each file's size and time tells whether
it still has them.

A third of a second for torch with its libraries (20,000 files); contents are not read. Compiled
bytecode is left out: Python itself writes it anew. Files that were added are no damage.
"""

import os
from collections.abc import Iterator
from pathlib import Path

NAME = "manifest.txt"
TOLD = 3


def write(folder: Path) -> int:
    """Write down every file of the environment; their bytes, those that it shares with others
    too.
    """
    lines, size = [], 0
    for path, status in _files(folder):
        lines.append(f"{status.st_size} {status.st_mtime_ns} {path.relative_to(folder)}")
        size += status.st_size
    (folder / NAME).write_text("\n".join(lines) + "\n")
    return size


def damage(folder: Path) -> str:
    """Which files are missing or changed, in words; empty when all are as they were made."""
    try:
        lines = (folder / NAME).read_text().splitlines()
    except (OSError, ValueError):
        return f"{NAME} cannot be read"
    bad = [
        name
        for line in lines
        if not _is_as_written(folder, line) and (name := line.rpartition(" ")[2])
    ]
    if not (folder / "bin" / "python").exists():
        bad.insert(0, "bin/python")  # a link to an interpreter that is gone
    more = f" and {len(bad) - TOLD} more" if len(bad) > TOLD else ""
    return f"missing or changed: {', '.join(bad[:TOLD])}{more}" if bad else ""


def _is_as_written(folder: Path, line: str) -> bool:
    size, time, name = line.split(" ", 2)
    try:
        status = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - called 20,000 times, and Path costs half a second
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
