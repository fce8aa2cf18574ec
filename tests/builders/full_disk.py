"""A full disk, as far as this process can tell: the kernel limits the size of its files."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(room_bytes: int) -> Iterator[None]:
    """Writing more raises OSError (EFBIG), at any depth of any library, for root too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
