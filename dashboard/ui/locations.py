"""Locations of series: one machine and one track. Pages choose one of those that have data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

# With fewer of the largest location's cases no page begins with a location
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A machine or a track as pages name it."""

    pk: int
    key: str
    label: str


@dataclass(frozen=True, slots=True)
class SeriesLocation:
    """One machine and one track, where numbers may be compared.

    build: the track's current build.
    at: the time of the newest datum, which is when its job was planned.
    imported: nothing was measured here. hidden: the machine or the track is.
    landed_at: when the newest of the results of that time landed; None where nobody asked.
    cases: how many of the suite were measured, or imported.
    """

    machine: NamedRow
    track: NamedRow
    build: str
    at: datetime
    imported: bool = False
    hidden: bool = False
    landed_at: datetime | None = None
    cases: int = 0

    @property
    def query(self) -> str:
        """The location as part of an address; keys are slugs and need no quoting."""
        return f"machine={self.machine.key}&track={self.track.key}"

    @property
    def trend_query(self) -> str:
        """The location as part of a trend's address.

        A track without a build, as for imports, mixes builds in time: it is shown by release.
        """
        return self.query if self.build else f"{self.query}&axis=release"


def offered(
    locations: Sequence[SeriesLocation], chosen: SeriesLocation | None
) -> list[SeriesLocation]:
    """List what a form offers: hidden locations only where the address names one."""
    return [location for location in locations if not location.hidden or location == chosen]


def choose_location(
    locations: Sequence[SeriesLocation], machine: str, track: str
) -> SeriesLocation | None:
    """The location with these keys, or the first that fits best: the machine counts more.

    So another machine can be chosen in a form even if the chosen track has no data on it.
    """

    def misfit(location: SeriesLocation) -> tuple[bool, bool]:
        other_machine = machine not in {"", location.machine.key}
        other_track = track not in {"", location.track.key}
        return other_machine, other_track

    return min(locations, key=misfit, default=None)


def first_shown(
    locations: Sequence[SeriesLocation], latest: SeriesLocation, machine: str = ""
) -> SeriesLocation:
    """The location that a page begins with where no track is asked for: ``latest``, unless it has
    under a twentieth of the cases of the largest location on offer; then the next that has more, on
    whichever machine, even if it was only imported.

    machine: which is asked for; empty: any.
    """
    here = [each for each in offered(locations, latest) if machine in {"", each.machine.key}]
    enough = _LEAST_SHARE * max((each.cases for each in here), default=0)
    return next((each for each in here if each.cases >= enough), latest)
