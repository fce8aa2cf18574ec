"""Files that the suite wrote.

What runs in the suite is not ours: where a file should be it may have put anything.
"""

import errno
import os
import stat
from pathlib import Path

LIMIT_BYTES = 32 * 1024**2


def read_suite_file(path: Path) -> bytes:
    """The content of a regular file. Raises OSError for anything else, and for a file too large.

    O_NOFOLLOW: a link could show us a file that we may read and the suite may not. O_NONBLOCK: a
    named pipe would hold us until somebody writes to it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError("it is a link, and links are not followed") from error
        raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_size > LIMIT_BYTES:
            raise OSError(
                f"it has {status.st_size / 1024**2:.0f} MiB, {LIMIT_BYTES // 1024**2} are allowed"
            )
        return file.read()
