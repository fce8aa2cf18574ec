"""A comparison and a search on the machine cpu-2c, and results for their jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.catalog.core.plan import Selection
from dashboard.comparisons.selectors.factorial_plan import plan_factorial
from dashboard.comparisons.services.bisections import start_bisection
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.comparisons.services.factorials import start_factorial
from dashboard.models import Bisection, Comparison, Factorial, Job, JobState, Worker
from dashboard.results.services.ingest import ingest
from dashboard.runs.selectors.runs import WAITING
from tests.builders import site

BASE, NEW = "2.11.0+cpu", "2.13.0+cpu"
LEVELS = {"torch": ["2.11.0", "2.13.0"], "transformers": ["5.19.0", "5.23.0"]}


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


def started_factorial(
    repeats: int = 3, levels: Mapping[str, Sequence[str]] | None = None
) -> Factorial:
    """Inductor of the MLP on two builds with two versions of transformers: 4 × `repeats` jobs."""
    if not Worker.objects.exists():
        site.living_worker()
    site.build(BASE)
    site.build(NEW)
    plan = plan_factorial(
        machine="cpu-2c",
        benchmark=site.MLP,
        config="inductor",
        levels=levels or LEVELS,
        repeats=repeats,
    )
    return start_factorial(plan=plan)


def factorial_jobs(factorial: Factorial) -> list[Job]:
    """In the order in which they are measured."""
    jobs = Job.objects.filter(run__factorial=factorial).order_by("planned_at")
    return list(jobs.select_related("run__build", "config"))


def measure_factorial(factorial: Factorial, slower: Mapping[int, float]) -> None:
    """A result for each waiting job, of 2 ms with a little noise. slower: by the place of the arm,
    by how many percent.
    """
    for place, job in enumerate(factorial_jobs(factorial)):
        if job.state in WAITING:
            noise = 1 + 0.001 * (place * 7 % 5 - 2)
            deliver_result(job, 2.0 * noise * (1 + slower.get(job.run.arm or 0, 0.0) / 100))
