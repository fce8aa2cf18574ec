"""The data of a series as detection reads them: of scheduled runs and imports, without points
marked as invalid.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile
from typing import NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from dashboard.catalog.core.versions import variant_of
from dashboard.detection import VERSION, SeriesNoise, UsualNoise, usual_noise
from dashboard.models import (
    Datum,
    DetectorState,
    InvalidPoint,
    Purpose,
    Series,
    TorchBuild,
    Track,
)
from dashboard.results.core.series_points import SeriesPoint, one_point_a_build

# Tracks on which data of one build are repeats of one point
PER_BUILD = (Track.Kind.NIGHTLY, Track.Kind.VERSIONS)
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
JUDGED = (Purpose.SCHEDULED, Purpose.IMPORT)
_JUDGED = f"""
    WHERE datum.purpose IN ('{Purpose.SCHEDULED}', '{Purpose.IMPORT}')
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = datum.series_id AND invalid.job_id = datum.job_id
          )
"""
# Equal for equal data: late data, a job that was run again and an invalid point all change it. The
# hashes are combined by XOR, so that their order does not matter. Of each series twice: until a
# moment, and with what came since.
_DIGESTS = f"""
    SELECT moment.series,
           count(*) FILTER (WHERE datum.planned_at <= moment.until),
           coalesce(bit_xor(hash.value) FILTER (WHERE datum.planned_at <= moment.until), 0),
           count(*),
           coalesce(bit_xor(hash.value), 0)
    FROM unnest(%s::bigint[], %s::timestamptz[]) AS moment (series, until)
    JOIN dashboard_datum AS datum ON datum.series_id = moment.series
    CROSS JOIN LATERAL (
        SELECT hashtextextended(
            concat_ws(' ', datum.job_id, datum.status, datum.benchmark_version,
                      datum.value::text),
            0
        ) AS value
    ) AS hash
    {_JUDGED}
    GROUP BY moment.series
"""  # noqa: S608 - made of constants
# The host of a CPU may have another name after each restart, and be the same machine
_READINGS = f"""
    SELECT datum.series_id, track.kind,
           datum.planned_at, datum.job_id::text, datum.build_id, datum.environment_id,
           datum.benchmark_version, datum.status,
           datum.value, datum.low, datum.high,
           CASE WHEN machine.device_kind = 'cuda' THEN coalesce(result.device, '') ELSE '' END,
           datum.purpose = '{Purpose.IMPORT}'
    FROM unnest(%s::bigint[], %s::timestamptz[]) AS moment (series, after)
    JOIN dashboard_series AS series ON series.id = moment.series
    JOIN dashboard_track AS track ON track.id = series.track_id
    JOIN dashboard_machine AS machine ON machine.id = series.machine_id
    JOIN dashboard_datum AS datum
         ON datum.series_id = moment.series AND datum.planned_at > moment.after
    LEFT JOIN dashboard_result AS result ON result.job_id = datum.job_id
    {_JUDGED}
    ORDER BY datum.series_id, datum.planned_at, datum.job_id
"""  # noqa: S608 - made of constants
NO_DATA = "0:0"


def judged(series_ids: Iterable[int]) -> QuerySet[Datum]:
    """The valid data of these series that detection reads, oldest first."""
    invalid = InvalidPoint.objects.filter(series=OuterRef("series"), job=OuterRef("job"))
    data = Datum.objects.filter(~Exists(invalid), series__in=series_ids, purpose__in=JUDGED)
    return data.order_by("planned_at", "job_id")


def with_settings_of(data: QuerySet[Datum], builds: Iterable[TorchBuild]) -> QuerySet[Datum]:
    """The data of builds that set what one of ``builds`` sets, which is nothing in a plain one; all
    where there is none.
    """
    chosen = Q()
    for variant in {variant_of(build.label) for build in builds}:
        is_plain = ~Q(build__label__contains="~")
        chosen |= Q(build__label__endswith=f"~{variant}") if variant else is_plain
    return data.filter(chosen)


def readings(series: Series, after: datetime = BEGINNING) -> list[SeriesPoint]:
    """The data of a series, oldest first; `after`: only later ones."""
    return readings_after({series.pk: after})[series.pk]


def readings_after(moments: Mapping[int, datetime]) -> dict[int, list[SeriesPoint]]:
    """By series id: its data after its moment, oldest first. One query."""
    fresh: dict[int, list[SeriesPoint]] = {series_id: [] for series_id in moments}
    side_by_side = set()
    with connection.cursor() as cursor:
        cursor.execute(_READINGS, [*_columns(moments)])
        for series_id, kind, *fields in cursor.fetchall():
            fresh[series_id].append(SeriesPoint(*fields))
            if kind == Track.Kind.VERSIONS:
                side_by_side.add(series_id)
    for series_id in side_by_side:
        fresh[series_id] = one_point_a_build(fresh[series_id])
    return fresh


def adds_to_earlier_build(
    series: Series, until: datetime, fresh: Iterable[SeriesPoint], newest_build: int | None
) -> bool:
    """Test whether data that came after a moment repeat an earlier point than the newest one.

    newest_build: the build of that point.
    """
    after_newest = dropwhile(lambda reading: reading.build == newest_build, fresh)
    builds = {reading.build for reading in after_newest}
    earlier = judged([series.pk]).filter(planned_at__lte=until, build__in=builds)
    return bool(builds) and earlier.exists()


@dataclass(frozen=True, slots=True)
class Digest:
    """A history in a few characters: up to the moment asked for, and to the newest."""

    until: str = NO_DATA
    now: str = NO_DATA


def digests(moments: Mapping[int, datetime]) -> dict[int, Digest]:
    """By series id, each up to its moment. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_DIGESTS, [*_columns(moments)])
        rows = cursor.fetchall()
    by_series = {series_id: Digest() for series_id in moments}
    for series_id, count, mixed, count_now, mixed_now in rows:
        by_series[series_id] = Digest(f"{count}:{mixed}", f"{count_now}:{mixed_now}")
    return by_series


def _columns(moments: Mapping[int, datetime]) -> tuple[list[int], list[datetime]]:
    return list(moments), list(moments.values())


class Place(NamedTuple):
    """Place where series have a noise in common.

    imported: what another system measured scatters in its own way, on the same machine too.
    """

    machine: int
    metric: str
    imported: bool


def place_of(series: Series) -> Place:
    return Place(series.machine_id, series.metric, series.benchmark.imported)


def noises_at(places: Collection[Place]) -> dict[Place, dict[int, SeriesNoise]]:
    """The noise of each series of these places that lends it. One query."""
    states = DetectorState.objects.filter(
        lends=True,
        version=str(VERSION),
        series__machine__in={place.machine for place in places},
        series__metric__in={place.metric for place in places},
    )
    noises: dict[Place, dict[int, SeriesNoise]] = {place: {} for place in places}
    of_place = ("series__machine", "series__metric", "series__benchmark__imported")
    for series_id, model, *fields in states.values_list("pk", "state__now__law", *of_place):
        place = Place(*fields)
        if place in noises:
            noises[place][series_id] = noise_of(model)
    return noises


def noise_of(law: Mapping[str, float]) -> SeriesNoise:
    """As the stored state of a detector has it."""
    return SeriesNoise(law["rho"], law["scale"], law["known"])


def usual_noise_near(series: Series, noises: Mapping[int, SeriesNoise]) -> UsualNoise | None:
    """The noise of the machine's other series of the metric; None where they are few or young."""
    return usual_noise([noise for pk, noise in noises.items() if pk != series.pk])


def is_per_build(track: Track) -> bool:
    """Test whether the data of one build on this track are repeats of one point."""
    return track.kind in PER_BUILD
