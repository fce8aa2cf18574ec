"""The revision of an own model that a result is of.

The hash of the model's file says it, so that an edit that nobody announced (by VERSION, or by
another commit) does not pass for a change in PyTorch.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Max

from dashboard.language.contracts import Document
from dashboard.models import Benchmark, Job, OwnRevision


def benchmark_versions(results: Iterable[tuple[Job, Document | None]]) -> dict[UUID, int]:
    """Job -> `benchmark_version` of its data. New revisions get their numbers.

    results: jobs, each with its result's `benchmark`. Without one the benchmark's newest revision
        counts, or else its version. Call it in a transaction.
    """
    versions = {}
    failed = []
    # One order, so that two transactions never wait for each other
    for job, benchmark in sorted(results, key=lambda result: result[0].benchmark.name):
        if benchmark is None:
            failed.append(job)
        elif "source_hash" in benchmark:
            number = _number(job, benchmark["version"], benchmark["source_hash"])
            versions[job.pk] = number
        else:
            versions[job.pk] = benchmark["version"]

    newest = _newest({job.benchmark_id for job in failed})
    for job in failed:
        versions[job.pk] = newest.get(job.benchmark_id, job.benchmark.version)
    return versions


def _number(job: Job, version: int, file_hash: str) -> int:
    """The revision's number: the version where that is free, else the next one."""
    revisions = OwnRevision.objects.filter(benchmark=job.benchmark_id)
    same_file = revisions.filter(version=version, file_hash=file_hash).values_list(
        "number", flat=True
    )
    if (number := same_file.first()) is not None:
        return number

    Benchmark.objects.select_for_update(no_key=True).get(pk=job.benchmark_id)
    if (number := same_file.first()) is not None:  # made while we waited
        return number
    taken = set(revisions.values_list("number", flat=True))
    number = max(taken) + 1 if version in taken else version
    OwnRevision.objects.create(
        benchmark_id=job.benchmark_id,
        number=number,
        version=version,
        file_hash=file_hash,
        first_at=job.planned_at,
    )
    return number


def _newest(benchmarks: set[int]) -> dict[int, int]:
    """Benchmark -> number of its newest revision."""
    if not benchmarks:
        return {}
    revisions = OwnRevision.objects.filter(benchmark__in=benchmarks).order_by()
    return dict(revisions.values_list("benchmark").annotate(Max("number")))
