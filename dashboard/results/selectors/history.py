"""The scheduled data of a series, as detection reads them: without points marked as invalid."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from dashboard.detection import VERSION, SeriesNoise, UsualNoise, usual_noise
from dashboard.models import Datum, DetectorState, InvalidPoint, Purpose, Series, Track
from dashboard.results.core.series_points import SeriesPoint

# Tracks on which data of one build are repeats of one point
PER_BUILD = (Track.Kind.NIGHTLY, Track.Kind.VERSIONS)
# Equal for equal data: late data, a job that was run again and an invalid point all change it. The
# hashes are combined by XOR, so that their order does not matter.
_DIGEST = """
    SELECT count(*),
           coalesce(bit_xor(hashtextextended(
               concat_ws(' ', datum.job_id, datum.status, datum.benchmark_version,
                         datum.value::text),
               0
           )), 0)
    FROM dashboard_datum AS datum
    WHERE datum.series_id = %s AND datum.planned_at <= %s AND datum.purpose = %s
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = datum.series_id AND invalid.job_id = datum.job_id
          )
"""
_FIELDS = (
    "planned_at",
    "job_id",
    "build_id",
    "environment_id",
    "benchmark_version",
    "status",
    "value",
    "low",
    "high",
    "job__result__device",
)


def scheduled(series_ids: Iterable[int]) -> QuerySet[Datum]:
    """Scheduled, valid data of these series, oldest first."""
    invalid = InvalidPoint.objects.filter(series=OuterRef("series"), job=OuterRef("job"))
    data = Datum.objects.filter(~Exists(invalid), series__in=series_ids, purpose=Purpose.SCHEDULED)
    return data.order_by("planned_at", "job_id")


def readings(series: Series, after: datetime | None = None) -> list[SeriesPoint]:
    """The data of a series, oldest first; `after`: only later ones."""
    data = scheduled([series.pk])
    if after is not None:
        data = data.filter(planned_at__gt=after)
    # The host of a CPU may have another name after each restart, and be the same machine
    has_devices = series.machine.device_kind == "cuda"
    points = []
    for at, job, *rest in data.values_list(*_FIELDS):
        point = SeriesPoint(at, str(job), *rest)
        points.append(replace(point, device=(has_devices and point.device) or ""))
    return points


def digest(series: Series, until: datetime) -> str:
    """What the history up to a moment was, in a few characters."""
    with connection.cursor() as cursor:
        cursor.execute(_DIGEST, [series.pk, until, Purpose.SCHEDULED])
        count, mixed = cursor.fetchone()
    return f"{count}:{mixed}"


def usual_noise_near(series: Series) -> UsualNoise | None:
    """The noise of the machine's other series of the metric; None where they are few or young."""
    others = DetectorState.objects.filter(
        version=str(VERSION),
        series__machine=series.machine_id,
        series__metric=series.metric,
    )
    models = others.exclude(series=series).values_list("state__now__law", flat=True)
    noises = [
        SeriesNoise(model["rho"], model["scale"], model["known"]) for model in models if model
    ]
    return usual_noise(noises)


def is_per_build(track: Track) -> bool:
    """Whether the data of one build on this track are repeats of one point."""
    return track.kind in PER_BUILD
