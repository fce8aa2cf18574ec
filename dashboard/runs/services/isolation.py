"""Keeps one item of many, as a beat task goes through them, from stopping the others."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

logger = structlog.get_logger(__name__)


@contextmanager
def isolated(failure: str, **which: object) -> Iterator[None]:
    """Log what goes wrong inside, and go on after it: the item stays as it is.

    failure: what could not be done; which: with what, as the log names it. What is inside is one
    transaction, or leaves nothing half done.
    """
    try:
        yield
    except Exception:
        logger.exception(failure, **which)
