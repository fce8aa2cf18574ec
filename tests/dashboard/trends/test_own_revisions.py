"""An own model whose file changed: another revision, marked on its trend, side by side with the one
before.
"""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Datum, Job, OwnRevision, Run, Worker
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
FIRST, SECOND = "a" * 16, "b" * 16
URL = f"/series/{site.MLP}/"


@pytest.fixture
def worker() -> Worker:
    return site.worker()


def measure(worker: Worker, file_hash: str, latency_ms: float = 4.0, **fields: object) -> Job:
    """A job whose file had this hash, after the ones before it."""
    at = timezone.now() + timedelta(minutes=Job.objects.count())
    job = site.running_job(worker, planned_at=at)
    result = site.result(job, {"latency_ms": latency_ms}, **fields)
    result["benchmark"]["source_hash"] = file_hash
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    return job


def version_of(job: Job) -> int:
    return Datum.objects.get(job=job, series__metric="latency_ms").benchmark_version


def test_changed_file_is_another_revision_and_the_same_file_is_not(worker: Worker) -> None:
    jobs = [measure(worker, file_hash) for file_hash in (FIRST, FIRST, SECOND, FIRST)]
    assert [version_of(job) for job in jobs] == [1, 1, 2, 1]


def test_raised_version_is_another_revision_of_the_same_file(worker: Worker) -> None:
    measure(worker, FIRST)
    measure(worker, SECOND)
    raised = {**site.result(measure(worker, SECOND))["benchmark"], "version": 2}
    assert version_of(measure(worker, SECOND, benchmark=raised)) == 3


def test_job_without_a_result_counts_for_the_newest_revision(worker: Worker) -> None:
    measure(worker, FIRST)
    measure(worker, SECOND)
    job = site.running_job(worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, None, "timeout"))
    assert version_of(job) == 2


def test_benchmark_of_the_suite_keeps_the_version_that_it_states(worker: Worker) -> None:
    job = site.running_job(worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    assert version_of(job) == 1
    assert not OwnRevision.objects.exists()


def test_series_page_has_the_revisions_side_by_side(worker: Worker, reader: Client) -> None:
    measure(worker, FIRST, 4.0)
    measure(worker, SECOND, 5.0)
    page = text(reader, URL)
    assert "Revisions of this model" in page
    assert "4.00 ms <small>1 process</small>" in page
    assert "5.00 ms <small>1 process</small>" in page
    assert "25.0% slower" in page
    assert 'href="/docs/gate/#two-interpreters-on-this-machine"' in page


def test_revisions_of_different_sessions_have_no_verdict(worker: Worker, reader: Client) -> None:
    for _ in range(2):
        measure(worker, FIRST, 4.0)
        measure(worker, SECOND, 5.0)
    assert "not measured in turn" in text(reader, URL)


def test_revisions_that_one_session_measured_in_turn_have_one(
    worker: Worker, reader: Client
) -> None:
    for wobble in (0.0, 0.01, -0.01, 0.02, 0.0, -0.02):
        measure(worker, FIRST, 4.0 + wobble)
        measure(worker, SECOND, 5.0 - wobble)
    Run.objects.update(session="one day")
    page = text(reader, URL)
    assert 'class="change bad"' in page
    assert "25.0% slower" in page
    assert "not measured in turn" not in page


def test_one_revision_has_no_table(worker: Worker, reader: Client) -> None:
    measure(worker, FIRST)
    assert "Revisions of this model" not in text(reader, URL)


def test_chart_marks_where_the_file_changed(worker: Worker, reader: Client) -> None:
    measure(worker, FIRST)
    measure(worker, SECOND)
    figure = reader.get(f"{URL}data.json").json()
    labels = [note["hovertext"] for note in figure["layout"]["annotations"] if "hovertext" in note]
    assert "revision 2: file bbbbbbbb" in labels
