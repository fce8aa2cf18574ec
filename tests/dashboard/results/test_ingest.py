"""A job's result is stored exactly once; one that breaks the contract touches only its own job."""

import gzip
from datetime import UTC, datetime

import pytest

from dashboard.language.contracts import Refused, TooLarge
from dashboard.models import (
    Datum,
    Job,
    JobState,
    RefusedResult,
    Result,
    RunState,
    Samples,
    Series,
    Worker,
)
from dashboard.results.core.result_format import unpack_samples
from dashboard.results.services.ingest import KEPT_BYTES, UnknownJob, ingest
from dashboard.runs.services.leases import Stale, reap
from dashboard.runs.services.runs import cancel_run, retry_failed_jobs
from tests.builders import site

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def worker() -> Worker:
    return site.worker()


@pytest.fixture
def job(worker: Worker) -> Job:
    """A job that the worker is measuring."""
    return site.running_job(worker)


def deliver(worker: Worker, job: Job, body: bytes | None = None) -> str:
    """Deliver a result for the job: a valid one, unless a body is given."""
    if body is None:
        body = site.delivery(job, site.result(job))
    return ingest(job_id=job.pk, worker=worker, body=body)


def test_result_ends_its_job_and_its_run(worker: Worker, job: Job) -> None:
    state = deliver(worker, job)
    job = site.reload(job)
    assert state == JobState.DONE
    assert job.status == "pass"
    assert job.run.state == RunState.COMPLETED


def test_same_result_twice_gives_the_same_rows(worker: Worker, job: Job) -> None:
    body = site.delivery(job, site.result(job))
    first = deliver(worker, job, body)
    assert deliver(worker, job, body) == first
    assert Result.objects.count() == 1
    assert Samples.objects.count() == 1
    assert Datum.objects.count() == 2
    assert set(Series.objects.values_list("metric", "count")) == {("latency_ms", 1), ("passed", 1)}


def test_another_result_for_a_finished_job_is_stale(worker: Worker, job: Job) -> None:
    deliver(worker, job)
    other = site.delivery(job, site.result(job, {"latency_ms": 9.0}))
    with pytest.raises(Stale, match="is done"):
        deliver(worker, job, other)
    assert Datum.objects.get(series__metric="latency_ms").value == 2.0


def test_result_of_an_earlier_attempt_is_stale(worker: Worker, job: Job) -> None:
    body = site.delivery(job, site.result(job))
    cancel_run(run=job.run)
    retry_failed_jobs(run=job.run)
    with pytest.raises(Stale, match=r"Attempt 1 of job .* no longer counts: 2 does"):
        deliver(worker, job, body)


def test_malformed_result_of_an_earlier_attempt_is_stale_and_fails_nothing(
    worker: Worker, job: Job
) -> None:
    body = site.delivery(job, {"schema": "result.v9"})
    Job.objects.filter(pk=job.pk).update(attempt=2)  # the same worker measures it again
    with pytest.raises(Stale, match="no longer counts: 2 does"):
        deliver(worker, job, body)
    assert site.reload(job).state == JobState.RUNNING
    assert not RefusedResult.objects.exists()


@pytest.mark.parametrize("attempt", ["1", True, None])
def test_malformed_result_of_an_unknown_attempt_counts_for_the_current_one(
    worker: Worker, job: Job, attempt: object
) -> None:
    with pytest.raises(Refused):
        deliver(worker, job, site.pack({"attempt": attempt}))
    assert site.reload(job).state == JobState.FAILED


def test_late_result_of_the_last_attempt_of_a_lost_job_is_stored(worker: Worker, job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(max_attempts=1, lease_until=LONG_AGO)
    reap()
    assert site.reload(job).state == JobState.LOST
    assert deliver(worker, job) == JobState.DONE
    assert site.reload(job).run.state == RunState.COMPLETED
    assert Datum.objects.get(series__metric="latency_ms").value == 2.0


def test_worker_cannot_deliver_for_another_workers_job() -> None:
    job = site.running_job(site.worker("w1"))
    other = site.worker("w2")
    with pytest.raises(Stale, match="is worker w1's, not w2's"):
        deliver(other, job)


def test_result_for_a_cancelled_job_is_stale(worker: Worker, job: Job) -> None:
    cancel_run(run=job.run)
    with pytest.raises(Stale, match="is cancelled"):
        deliver(worker, job)


def test_worker_may_report_that_it_has_cancelled(worker: Worker, job: Job) -> None:
    cancel_run(run=job.run)
    body = site.delivery(job, status="cancelled")
    assert deliver(worker, job, body) == JobState.CANCELLED


def test_nothing_is_kept_of_a_result_for_an_unknown_job(worker: Worker, job: Job) -> None:
    body = site.delivery(job, site.result(job))
    job_id = job.pk
    job.run.delete()
    with pytest.raises(UnknownJob, match=f"There is no job {job_id}"):
        ingest(job_id=job_id, worker=worker, body=body)
    assert not RefusedResult.objects.exists()


def test_one_refused_body_is_kept_for_an_attempt_however_many_come(
    worker: Worker, job: Job
) -> None:
    for _ in range(3):
        with pytest.raises(Refused):
            ingest(job_id=job.pk, worker=worker, body=b"x" * (KEPT_BYTES + 1))
    assert len(RefusedResult.objects.get().body) == KEPT_BYTES


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {"metrics": {"latency_ms": {"value": "fast"}}},
            r'result.metrics.latency_ms.value: "fast" is not of type',
        ),
        ({"status": "great"}, r'result.status: "great" is not one of'),
        (
            {"metrics": {"latency_ms": {"value": 2, "low": 3, "high": 1}}},
            r"interval ends \(1.0\) before it begins",
        ),
        (
            {"samples": {"eager": {"unit": "ms", "values": [1], "order": []}}},
            r"samples.eager.order has 0 entries",
        ),
        ({"started_at": "yesterday"}, r'result.started_at: "yesterday" is not a "date-time"'),
        (
            {
                "job": {
                    "job_id": "x",
                    "attempt": 1,
                    "benchmark": site.MLP,
                    "config": "c",
                }
            },
            r"result.job.job_id is 'x'",
        ),
        (
            {
                "job": {
                    "job_id": "x",
                    "attempt": 1,
                    "benchmark": "b",
                    "config": 5,
                }
            },
            r"result.job.benchmark: \"b\" does not",
        ),
    ],
)
def test_malformed_result_is_refused_with_its_place(
    worker: Worker, job: Job, document: dict[str, object], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        deliver(worker, job, site.delivery(job, site.result(job, **document)))


def test_refused_result_fails_its_job_and_touches_nothing_else(worker: Worker, job: Job) -> None:
    with pytest.raises(Refused):
        deliver(worker, job, site.delivery(job, {"schema": "result.v9"}))
    job = site.reload(job)
    assert job.state == JobState.FAILED
    assert job.run.state == RunState.FAILED
    assert f"kept as no. {RefusedResult.objects.get().pk}" in job.message
    assert not Result.objects.exists()
    assert not Datum.objects.exists()
    assert not Series.objects.exists()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_number_that_json_does_not_have_is_refused(
    worker: Worker,
    job: Job,
    number: str,
) -> None:
    valid = gzip.decompress(site.delivery(job, site.result(job)))
    body = valid.replace(b'"value": 2.0', f'"value": {number}'.encode())
    with pytest.raises(Refused, match="not JSON"):
        deliver(worker, job, body)


def test_gzip_bomb_is_refused_before_it_is_unpacked(worker: Worker, job: Job) -> None:
    bomb = gzip.compress(b" " * 200_000_000)
    with pytest.raises(TooLarge, match="more than 32 MiB"):
        deliver(worker, job, bomb)


def test_cut_body_is_refused(worker: Worker, job: Job) -> None:
    body = site.delivery(job, site.result(job))
    with pytest.raises(Refused, match="ends too early"):
        deliver(worker, job, body[:-20])


def test_what_postgres_cannot_store_is_replaced(worker: Worker, job: Job) -> None:
    deliver(worker, job, site.delivery(job, site.result(job, message="a\0b")))
    assert site.reload(job).message == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("crashed", JobState.FAILED),
        ("oom", JobState.FAILED),
        ("timeout", JobState.TIMED_OUT),
    ],
)
def test_job_without_a_result_becomes_a_point_without_a_value(
    worker: Worker, job: Job, status: str, state: str
) -> None:
    body = site.delivery(job, status=status, message="why")
    assert deliver(worker, job, body) == state
    data = Datum.objects.values_list("series__metric", "value", "status")
    assert set(data) == {("latency_ms", None, status), ("passed", 0.0, status)}
    assert site.reload(job).message == "why"


def test_unsupported_case_neither_passes_nor_fails(worker: Worker, job: Job) -> None:
    document = site.result(job, {}, status="unsupported", message="needs CUDA")
    deliver(worker, job, site.delivery(job, document))
    assert list(Datum.objects.values_list("series__metric", "value")) == [("latency_ms", None)]


def test_result_of_a_retry_replaces_the_failure(worker: Worker, job: Job) -> None:
    deliver(worker, job, site.delivery(job, status="crashed"))
    retry_failed_jobs(run=job.run)
    again = site.claim(job, worker)
    deliver(worker, job, site.delivery(again, site.result(again)))
    assert set(Datum.objects.values_list("series__metric", "value")) == {
        ("latency_ms", 2.0),
        ("passed", 1.0),
    }
    assert set(Series.objects.values_list("count", "newest_status")) == {(1, "pass")}


def test_metric_of_a_newer_suite_stays_in_the_document(worker: Worker, job: Job) -> None:
    document = site.result(job, {"latency_ms": 2.0, "quarks": 3.0})
    deliver(worker, job, site.delivery(job, document))
    assert Result.objects.get().document["metrics"]["quarks"]["value"] == 3.0
    assert not Series.objects.filter(metric="quarks").exists()


def test_raw_samples_come_back_as_they_were(worker: Worker, job: Job) -> None:
    deliver(worker, job)
    stored = Samples.objects.get()
    assert unpack_samples(bytes(stored.values)).tolist() == [2.0, 2.1, 1.9]
