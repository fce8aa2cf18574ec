"""A comparison and a search on the machine cpu-2c, and results for their jobs."""

from collections.abc import Mapping
from typing import Any

from dashboard.catalog.core.plan import Selection
from dashboard.comparisons.services.bisections import start_bisection
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.models import Bisection, Comparison, Job, JobState, Worker
from dashboard.results.services.ingest import ingest
from tests.builders import site

BASE, NEW = "2.11.0+cpu", "2.13.0+cpu"


def started_comparison(repeats: int = 2) -> Comparison:
    """Eager and inductor of the MLP on two builds: 4 × `repeats` jobs that wait."""
    site.worker()
    site.build(BASE)
    site.build(NEW)
    return start_comparison(
        base="2.11.0",
        new="2.13.0",
        machine="cpu-2c",
        selection=Selection(benchmarks=(site.MLP,)),
        repeats=repeats,
    )


def two_builds() -> None:
    """And a worker that can install both."""
    site.living_worker()
    site.build(BASE)
    site.build(NEW)


def three_builds() -> None:
    """The two builds with one between them, and a worker that measures them."""
    site.worker()
    for label in (BASE, "2.12.0+cpu", NEW):
        site.build(label)


def started_bisection() -> Bisection:
    """Between the two builds of `started_comparison`, over two more; it must have run before."""
    for label in ("2.12.0+cpu", "2.12.1+cpu"):
        site.build(label)
    return start_bisection(
        base=BASE, new=NEW, machine="cpu-2c", benchmark=site.MLP, config="inductor"
    )


def comparison_jobs(comparison: Comparison) -> list[Job]:
    """In the order in which they are measured."""
    jobs = Job.objects.filter(run__comparison=comparison).order_by("planned_at")
    return list(jobs.select_related("run__build", "config"))


def deliver_result(
    job: Job, latency: float, values: Mapping[str, float] | None = None, **fields: Any
) -> None:
    """The job's result, as its worker delivers it. values: of other metrics. fields: of the
    document.
    """
    worker = Worker.objects.get()
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    job = site.claim(job, worker)
    ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(
            job, site.result(job, {"latency_ms": latency, **(values or {})}, **fields)
        ),
    )
