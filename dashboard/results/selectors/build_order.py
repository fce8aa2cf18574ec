"""The builds of a track in their order: every page that says "newest" means the last of it."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from dashboard.catalog.core.versions import BuildOrder, build_order
from dashboard.ui.locations import SeriesLocation

_COLUMNS = """
    SELECT track.id, build.id, build.label, build.version,
           coalesce(track.build_id = build.id, false),
           coalesce((SELECT min(run.created_at) FROM dashboard_run AS run
                     WHERE run.build_id = build.id AND run.track_id = track.id), build.created_at)
    FROM {given} AS given (track, build)
    JOIN dashboard_track AS track ON track.id = given.track
    JOIN dashboard_torchbuild AS build ON build.id = given.build
"""
_BUILDS = _COLUMNS.format(given="unnest(%s::bigint[], %s::bigint[])")
# Of these two metrics every job that ended has one
_AT_PLACE = _COLUMNS.format(
    given="""(
        SELECT DISTINCT track_id, newest_build_id FROM dashboard_series
        WHERE machine_id = %s AND track_id = %s AND metric IN ('passed', 'latency_ms')
    )"""
)


class TrackBuild(NamedTuple):
    """A build on a track. first_at: when a run of it was first requested there."""

    track: int
    build: int
    label: str
    version: str
    is_current: bool
    first_at: datetime

    @property
    def order(self) -> BuildOrder:
        return build_order(self.label, self.version, self.is_current, self.first_at)


def in_order(pairs: Collection[tuple[int, int]]) -> list[TrackBuild]:
    """These builds, each given as (track, build), the oldest first. One query."""
    return _in_order(_BUILDS, [[track for track, _ in pairs], [build for _, build in pairs]])


def newest_first(place: SeriesLocation) -> list[TrackBuild]:
    """The builds that are the newest one of any case at the place: the first is the newest of the
    track there, on which the cases of the others were not measured. One query.
    """
    return _in_order(_AT_PLACE, [place.machine.pk, place.track.pk])[::-1]


def _in_order(statement: str, parameters: Sequence[Any]) -> list[TrackBuild]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = [TrackBuild(*row) for row in cursor.fetchall()]
    return sorted(rows, key=lambda row: (row.order, row.build))
