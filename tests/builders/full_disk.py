"""A disk without room, as far as this process can tell: the kernel lets no file of it grow beyond a
size.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(room_bytes: int) -> Iterator[None]:
    """Writing beyond raises OSError (EFBIG), at any depth of any library, for root too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
