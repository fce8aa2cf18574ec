"""Whether the static files have to be collected again: that takes seconds, and most starts change
none.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from dashboard.local import project

STAMP = "static.stamp"


def changed(var: Path) -> bool:
    """Whether a source of the files in `var/static` is another than when they were collected."""
    stamp = var / STAMP
    return not (var / "static").exists() or not stamp.exists() or stamp.read_text() != _digest()


def note(var: Path) -> None:
    """Remember what the files in `var/static` were collected from."""
    (var / STAMP).write_text(_digest())


def _digest() -> str:
    """Our own files by size and time, those of packages by their pinned versions, and the
    settings.
    """
    found = hashlib.sha256()
    for path in sorted(_sources()):
        status = path.stat()
        found.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return found.hexdigest()


def _sources() -> Iterator[Path]:
    site = project.ROOT / "dashboard"
    yield from (path for path in (site / "static").rglob("*") if path.is_file())
    yield from (project.REQUIREMENTS, site / "settings.py", site / "staticfiles.py")
