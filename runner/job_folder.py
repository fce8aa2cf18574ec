"""A job's folder, WORKER_DIR/jobs/<job>.<attempt>/, and its private folder for temporary files.

A suite that is killed cannot clean up its temporary files, hundreds of megabytes of compiler
caches: the worker does. They are under TMPDIR and not in the job's folder, because the path of a
Unix socket must stay under 108 characters.
"""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "cw-"
LINK = "tmp"


def create(folder: Path) -> None:
    """Make an empty folder with a link `tmp` to a new folder for temporary files."""
    remove(folder)
    folder.mkdir(parents=True)
    (folder / LINK).symlink_to(tempfile.mkdtemp(prefix=PREFIX))


def temporary(folder: Path) -> Path:
    """Return the folder of the job's temporary files."""
    return (folder / LINK).readlink()


def remove(folder: Path) -> None:
    """Remove the job's folder and its temporary files."""
    with suppress(OSError):
        target = temporary(folder)
        # The job may have pointed the link elsewhere: such a link is not followed
        if target.name.startswith(PREFIX):
            shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
