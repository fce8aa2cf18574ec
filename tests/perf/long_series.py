"""Series far longer than a generated history has, for the scripts that measure pages.

Django must be set up.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import numpy as np
from django.db import connection

from dashboard.models import Datum, Job, JobState, Run, RunState, Series, TorchBuild, Track
from dashboard.runs.services.partitions import ensure_partitions

LONG = ((5_000, timedelta(hours=1)), (100_000, timedelta(minutes=5)))
SPIKE = 99.0  # ms: the one outlier of a long series
_COLUMNS = (
    "series_id, planned_at, job_id, build_id, purpose, status, benchmark_version, value, "
    "low, high, count"
)


@contextmanager
def kept_series(points: int, apart: timedelta) -> Iterator[Series]:
    """A long series that other processes see, too; deleted with the block."""
    remove(points)
    try:
        yield write_series(points, apart)
    finally:
        remove(points)


def write_series(points: int, apart: timedelta) -> Series:
    """A series of so many data with one single spike, on a track and a build of its own."""
    like = Series.objects.filter(metric="latency_ms").select_related(
        "benchmark", "config", "machine"
    )[0]
    build = TorchBuild.objects.create(label=_name(points), version=_name(points))
    track = Track.objects.create(key=_name(points), build=build)
    run = Run.objects.create(
        build=build, track=track, machine=like.machine, state=RunState.COMPLETED
    )
    now = datetime.now(UTC)
    times = [now - apart * (points - number) for number in range(points)]
    ensure_partitions(moments=times)
    series = Series.objects.create(
        benchmark=like.benchmark,
        config=like.config,
        machine=like.machine,
        track=track,
        metric="latency_ms",
        count=points,
        last_at=times[-1],
        newest_build=build,
        newest_status="pass",
        newest_value=10,
    )
    jobs = [
        Job(
            run=run,
            benchmark=like.benchmark,
            config=like.config,
            state=JobState.DONE,
            planned_at=at,
        )
        for at in times
    ]
    Job.objects.bulk_create(jobs, batch_size=5000)
    _copy(series, build, jobs)
    return series


def _copy(series: Series, build: TorchBuild, jobs: list[Job]) -> None:
    values = 10 * np.exp(np.random.default_rng(1).normal(0, 0.01, len(jobs)))
    values[len(jobs) // 3] = SPIKE
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY dashboard_datum ({_COLUMNS}) FROM STDIN") as copy,
    ):
        for job, value in zip(jobs, values.tolist(), strict=True):
            interval = (value, value * 0.99, value * 1.01)
            copy.write_row(
                (series.pk, job.planned_at, job.pk, build.pk, "scheduled", "pass", 1, *interval, 30)
            )


def remove(points: int) -> None:
    """Delete what `write_series` of so many points wrote, also in a process that was killed."""
    of_the_track = {"track__key": _name(points)}
    Datum.objects.filter(series__in=Series.objects.filter(**of_the_track)).delete()
    Series.objects.filter(**of_the_track).delete()
    Run.objects.filter(**of_the_track).delete()
    Track.objects.filter(key=_name(points)).delete()
    TorchBuild.objects.filter(label=_name(points)).delete()


def _name(points: int) -> str:
    return f"long-{points}"
