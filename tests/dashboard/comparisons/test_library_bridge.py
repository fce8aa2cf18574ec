"""A change of libraries between two builds is bridged: the new build is measured under both."""

import pytest
from django.test import Client

from dashboard.catalog.core.plan import Selection
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.models import (
    Comparison,
    InstalledEnvironment,
    Job,
    JobState,
    Worker,
)
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.comparisons import (
    BASE,
    NEW,
    comparison_jobs,
    started_comparison,
)
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


def bridged() -> Comparison:
    """2.5.1 and 2.13.0, which takes newer libraries; every job of 2.13.0 under its own is 10%
    faster.
    """
    started_comparison()
    site.build("2.5.1")
    selection = Selection(benchmarks=(site.MLP,), configs=("inductor",))
    return start_comparison(
        base="2.5.1", new="2.13.0", machine="cpu-2c", selection=selection, repeats=3
    )


def deliver_under(job: Job, latency: float, jitter: int) -> None:
    """The job's result in the libraries that its run asks for."""
    worker = Worker.objects.get()
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    job = site.claim(job, worker)
    environment = {
        **site.environment(f"{job.run_id:016x}"),
        "libraries": job.run.libraries,
    }
    metrics = {
        "latency_ms": latency + jitter / 1000,
        "eager_latency_ms": 2.0,
        "speedup": 2.0 / latency,
    }
    result = site.result(job, metrics, environment=environment)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))


def test_new_build_is_measured_under_both_library_sets_in_turn() -> None:
    runs = bridged().runs.order_by("pk").select_related("build")
    assert [(run.build.version, run.libraries["transformers"]) for run in runs] == [
        ("2.5.1", "5.19.0"),
        ("2.13.0+cpu", "5.19.0"),
        ("2.13.0+cpu", "5.23.0"),
    ]
    assert {run.jobs.count() for run in runs} == {3}


def test_page_says_what_libraries_add_and_compares_builds_under_the_shared_ones(
    reader: Client,
) -> None:
    comparison = bridged()
    for number, job in enumerate(comparison_jobs(comparison)):
        own = job.run.libraries != comparison.libraries
        deliver_under(job, 1.8 if own else 2.0, number % 3)
    shown = text(reader, comparison.get_absolute_url())
    assert "From those above to its own, diffusers 0.42.1, transformers 5.23.0" in shown
    assert "10.0% faster" in shown[shown.index("What newer libraries add") :]
    assert "No step is more than 0.05% slower" in shown


def test_builds_of_one_library_set_need_no_bridge() -> None:
    assert started_comparison().runs.count() == 2


@pytest.mark.parametrize(
    ("new_libraries", "shared"),
    [({"transformers": "5.17.0"}, {"transformers": "5.17.0"}), ({"transformers": "5.14.1"}, {})],
)
def test_adopted_environments_are_compared_as_they_are(
    new_libraries: dict[str, str], shared: dict[str, str]
) -> None:
    worker = site.worker()
    for label, libraries in ((BASE, {"transformers": "5.17.0"}), (NEW, new_libraries)):
        InstalledEnvironment.objects.create(
            worker=worker,
            key=label,
            build=site.build(label),
            libraries=libraries,
            state="ready",
            adopted=True,
        )
    comparison = start_comparison(
        base=BASE, new=NEW, machine="cpu-2c", selection=Selection(benchmarks=(site.MLP,)), repeats=1
    )
    assert comparison.libraries == shared


def test_version_means_the_build_for_the_kind_of_machine() -> None:
    site.build("2.11.0+cu130")
    assert started_comparison().base.label == "2.11.0+cpu"
