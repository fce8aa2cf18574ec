"""Moments and numbers that people and programs write: read and bounded in one place.

Python and Postgres reckon to the year 9999, in any zone. A moment at that edge is stored and
can be neither read back nor shown in another zone: whoever wrote it broke the page for everybody.
"""

from collections.abc import Iterable
from datetime import datetime, tzinfo

YEARS = (1970, 2100)
MOST_DIGITS = 18  # every number of so many fits into a bigint


def check_moment(at: datetime) -> datetime:
    """The same moment. Raises ValueError for one outside of YEARS."""
    if not YEARS[0] <= at.year <= YEARS[1]:
        raise ValueError(f"{at.isoformat()} lies outside the years {YEARS[0]} to {YEARS[1]}")
    return at


def read_moment(text: str, zone: tzinfo) -> datetime:
    """A day (its beginning) or a time, ISO 8601; without a zone it is of `zone`.

    Raises ValueError.
    """
    at = check_moment(datetime.fromisoformat(text))
    return at if at.tzinfo else at.replace(tzinfo=zone)


def read_numbers(texts: Iterable[str]) -> list[int]:
    """Read the texts that are ids, or whole numbers of any kind that a column holds, from 0."""
    return [int(text) for text in texts if text.isdecimal() and len(text) <= MOST_DIGITS]
