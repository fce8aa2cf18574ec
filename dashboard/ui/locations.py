"""Where series live: one machine and one track. Pages choose one of those that have data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A machine or a track as pages name it."""

    pk: int
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class SeriesLocation:
    """Where numbers may be compared: one machine and one track. build: where the track stands; at:
    the newest datum.
    """

    machine: NamedRow
    track: NamedRow
    build: str
    at: datetime

    @property
    def query(self) -> str:
        """It as part of an address; keys are slugs and need no quoting."""
        return f"machine={self.machine.key}&track={self.track.key}"

    @property
    def trend_query(self) -> str:
        """It as part of a trend's address. A track that stands at no build, as imports do, mixes
        builds in time: by release they tell something.
        """
        return self.query if self.build else f"{self.query}&axis=release"


def choose_location(
    known: Sequence[SeriesLocation], machine: str, track: str
) -> SeriesLocation | None:
    """The place of that machine and track key, or the first that has as much of it as any: the
    machine counts more.

    So choosing another machine in a form works where the track that was chosen before has no data
    on it.
    """
    ranked = sorted(
        known,
        key=lambda place: (
            machine not in {"", place.machine.key},
            track not in {"", place.track.key},
        ),
    )
    return ranked[0] if ranked else None
