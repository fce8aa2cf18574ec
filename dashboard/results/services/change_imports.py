"""Deletes what imports brought, or moves it to another track or machine."""

from collections import Counter
from collections.abc import Collection, Mapping
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from dashboard.catalog.core.hardware import Hardware
from dashboard.catalog.services.machines import ensure_machine
from dashboard.models import AlertGroup, Artifact, Benchmark, Datum, Job, Purpose, Run, Series
from dashboard.results.services import detection_queue, levels, newest, retention, store
from dashboard.results.services.import_rows import ensure_track

# Puts what jobs brought into the series of the track and machine that their runs have now
_MOVE = """
    UPDATE {table} AS moved SET series_id = new.id
    FROM dashboard_job AS job, dashboard_run AS run, dashboard_series AS old,
         dashboard_series AS new
    WHERE moved.job_id = ANY(%s) AND job.uuid = moved.job_id AND run.id = job.run_id
          AND old.id = moved.series_id AND new.id <> old.id
          AND (new.benchmark_id, new.config_id, new.metric, new.machine_id, new.track_id)
              = (old.benchmark_id, old.config_id, old.metric, run.machine_id, run.track_id)
    RETURNING old.id, new.id
"""


def delete_import(*, runs: QuerySet[Run]) -> int:
    """Delete these imported runs with their results; the number of results.

    Series, benchmarks and alerts that then have nothing left go as well.
    """
    jobs = _imported_jobs(runs)
    retention.remove_files(Artifact.objects.filter(job__in=jobs))
    with transaction.atomic():
        gone = jobs.in_bulk()
        builds = set(jobs.values_list("run__build", flat=True))
        lost = store.delete_earlier(list(gone))
        Run.objects.filter(pk__in={job.run_id for job in gone.values()}).delete()
        _roll_up({series: -count for series, count in lost.items()}, gone.values(), builds)
    return len(gone)


def move_import(*, runs: QuerySet[Run], track: str = "", machine: str = "") -> int:
    """Move these imported runs to a track, a machine, or both, by key; the number of results.

    What nothing is left in goes, as where they are deleted. Alerts are made again where they are.
    """
    jobs = _imported_jobs(runs)
    with transaction.atomic():
        moved = jobs.select_related("run__machine", "run__build").in_bulk()
        for run in {job.run for job in moved.values()}:
            if track:
                run.track = ensure_track(track, run.build)
            if machine:
                kind, size = run.machine.device_kind, run.machine.default_size
                run.machine = ensure_machine(Hardware(machine, machine, kind, size))
            run.save(update_fields=["track", "machine"])
        growth = _move_data(list(moved))
        _roll_up(growth, moved.values(), {job.run.build_id for job in moved.values()})
    return len(moved)


def _imported_jobs(runs: QuerySet[Run]) -> QuerySet[Job]:
    return Job.objects.filter(run__in=runs.filter(purpose=Purpose.IMPORT)).defer("spec")


def _move_data(jobs: list[UUID]) -> Counter[int]:
    """Count the data by which each series has grown."""
    keys = Datum.objects.filter(job__in=jobs).values_list(
        "job__benchmark", "job__config", "job__run__machine", "job__run__track", "series__metric"
    )
    store.series_ids({store.SeriesKey(*key) for key in keys.distinct()})
    with connection.cursor() as cursor:
        cursor.execute(_MOVE.format(table="dashboard_invalidpoint"), [jobs])
        cursor.execute(_MOVE.format(table="dashboard_datum"), [jobs])
        moves = cursor.fetchall()
    growth = Counter(new for _, new in moves)
    growth.subtract(old for old, _ in moves)
    return growth


def _roll_up(growth: Mapping[int, int], jobs: Collection[Job], builds: Collection[int]) -> None:
    """Bring everything up to date that was made of these jobs' data.

    growth: by how many data each series has grown. jobs: as they were; they may be gone.
    """
    if not jobs:
        return
    store.roll_up(Counter(growth))
    levels.roll_up(series=growth, builds=builds)
    newest.roll_up(series=growth)

    empty = Series.objects.filter(pk__in=[*growth], count=0)
    groups = set(AlertGroup.objects.filter(alerts__series__in=empty).values_list("pk", flat=True))
    empty.delete()
    AlertGroup.objects.filter(pk__in=groups, alerts=None).delete()
    unused = Benchmark.objects.filter(pk__in={job.benchmark_id for job in jobs}, imported=True)
    unused.filter(jobs=None, series=None).delete()
    detection_queue.enqueue(series_ids=growth)
