"""Deletes what imports brought: to a wrong track, to a wrong machine, or by mistake."""

from collections.abc import Collection
from datetime import UTC

from django.db import transaction
from django.db.models import QuerySet

from dashboard.models import AlertGroup, Artifact, Benchmark, Job, Purpose, Run, Series
from dashboard.results.services import days, detection_queue, levels, newest, retention, store


def delete_import(*, runs: QuerySet[Run]) -> int:
    """Delete these imported runs with their results; the number of results.

    Series, benchmarks and alerts that then have nothing left go as well.
    """
    jobs = Job.objects.filter(run__in=runs.filter(purpose=Purpose.IMPORT))
    retention.remove_files(Artifact.objects.filter(job__in=jobs))
    with transaction.atomic():
        ids = list(jobs.values_list("pk", flat=True))
        if not ids:
            return 0
        builds = set(jobs.values_list("run__build", flat=True))
        benchmarks = set(jobs.values_list("benchmark", flat=True))
        first = min(jobs.values_list("planned_at", flat=True)).astimezone(UTC)
        lost = store.delete_earlier(ids)
        Run.objects.filter(pk__in=set(jobs.values_list("run", flat=True))).delete()
        lost.subtract({series: 2 * count for series, count in lost.items()})
        store.roll_up(lost)
        levels.roll_up(series=lost, builds=builds)
        newest.roll_up(series=lost)
        days.roll_up(series=lost, since=first.date())
        _delete_empty(lost, benchmarks)
        detection_queue.enqueue(series_ids=lost)
    return len(ids)


def _delete_empty(series: Collection[int], benchmarks: Collection[int]) -> None:
    empty = Series.objects.filter(pk__in=series, count=0)
    groups = set(AlertGroup.objects.filter(alerts__series__in=empty).values_list("pk", flat=True))
    empty.delete()
    AlertGroup.objects.filter(pk__in=groups, alerts=None).delete()
    unused = Benchmark.objects.filter(pk__in=benchmarks, imported=True)
    unused.filter(jobs=None, series=None).delete()
