"""Detect changes of static files: collecting them again takes seconds and is rarely needed."""

import hashlib
from pathlib import Path

from dashboard.local import project

STAMP = "static.stamp"


def changed(var: Path) -> bool:
    """Test whether a source of the files in `var/static` has changed since they were collected."""
    stamp = var / STAMP
    if not stamp.exists() or not (var / "static").exists():
        return True
    return stamp.read_text() != _digest()


def mark_collected(var: Path) -> None:
    """Remember what the files in `var/static` were collected from."""
    (var / STAMP).write_text(_digest())


def _digest() -> str:
    """Digest our own files by size and time, the pinned versions of packages, and the settings."""
    site = project.ROOT / "dashboard"
    sources = [project.REQUIREMENTS, site / "settings.py", site / "site" / "staticfiles.py"]
    sources += filter(Path.is_file, (site / "static").rglob("*"))
    digest = hashlib.sha256()
    for path in sorted(sources):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
