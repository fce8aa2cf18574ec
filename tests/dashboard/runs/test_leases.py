"""The lease decides who measures a job: one attempt counts, and what falls silent is queued
again.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.models import Job, JobState, RunState, Worker
from dashboard.runs.selectors import runs
from dashboard.runs.services import fleet, leases
from dashboard.runs.services.leases import Stale
from dashboard.runs.services.runs import cancel_run
from tests.builders import alerting, site

pytestmark = pytest.mark.django_db


def expire(job: Job, **also: int) -> None:
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1), **also)


def test_claim_sets_job_and_run_running() -> None:
    job = site.running_job(site.worker())
    assert job.state == JobState.RUNNING
    assert job.run.state == RunState.RUNNING


def test_repeated_claim_gets_the_same_answer() -> None:
    """The first answer may have been lost on its way."""
    worker = site.worker()
    job = site.running_job(worker)
    assert (
        leases.claim(
            job_id=job.pk,
            attempt=1,
            worker=worker,
            boot_id=site.BOOT,
        ).pk
        == job.pk
    )


def test_a_second_workers_claim_is_stale() -> None:
    job = site.running_job(site.worker("w1"))
    with pytest.raises(Stale, match="is worker w1's, not w2's"):
        leases.claim(
            job_id=job.pk,
            attempt=1,
            worker=site.worker("w2"),
            boot_id=site.BOOT,
        )


@pytest.mark.django_db(transaction=True)
def test_one_of_two_simultaneous_claims_wins() -> None:
    workers = [site.worker("w1"), site.worker("w2")]
    for job in site.run(site.MLP, site.GPT2, configs=["eager", "inductor", "regional"]).jobs.all():
        Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
        together = Barrier(2)

        def claim(worker: Worker, job: Job = job, together: Barrier = together) -> bool:
            together.wait()
            try:
                leases.claim(
                    job_id=job.pk,
                    attempt=1,
                    worker=worker,
                    boot_id=site.BOOT,
                )
            except Stale:
                return False
            finally:
                connection.close()
            return True

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(claim, workers)) == [False, True]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"attempt": 2}, "Attempt 2 of job .* no longer counts: 1 does"),
        ({"boot_id": "another"}, "Another process of worker w1"),
    ],
)
def test_a_claim_of_another_attempt_or_process_is_stale(other: dict[str, Any], why: str) -> None:
    worker = site.worker()
    claim: dict[str, Any] = {
        "job_id": site.queued_job().pk,
        "attempt": 1,
        "worker": worker,
        "boot_id": site.BOOT,
    }
    with pytest.raises(Stale, match=why):
        leases.claim(**{**claim, **other})


def test_a_paused_worker_gets_no_job() -> None:
    worker = site.worker()
    worker.paused = True
    with pytest.raises(Stale, match="is paused"):
        site.claim(site.queued_job(), worker)


def test_a_worker_of_another_machine_gets_no_job() -> None:
    with pytest.raises(Stale, match="is for machine cpu-2c, worker w9 is on h200"):
        site.claim(site.queued_job(), site.worker("w9", on="h200"))


def test_heartbeat_renews_lease_and_reports_phase() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    expire(job)
    assert not leases.heartbeat(
        job_id=job.pk, attempt=1, worker=worker, phase="sampling", log_tail="..."
    )
    assert leases.reap() == 0
    assert site.reload(job).phase == "sampling"


def test_a_heartbeat_of_a_cancelled_job_says_cancel() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    cancel_run(run=job.run)
    assert leases.heartbeat(
        job_id=job.pk,
        attempt=1,
        worker=worker,
        phase="",
        log_tail="",
    )


def test_a_heartbeat_of_an_attempt_that_was_given_up_is_stale() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    expire(job)
    leases.reap()
    with pytest.raises(Stale, match=r"Attempt 1 of job .* no longer counts"):
        leases.heartbeat(
            job_id=job.pk,
            attempt=1,
            worker=worker,
            phase="",
            log_tail="",
        )


def test_expired_lease_requeues_job_under_the_next_attempt() -> None:
    job = site.running_job(site.worker())
    expire(job)
    assert leases.reap() == 1
    job = site.reload(job)
    assert job.state == JobState.QUEUED
    assert job.attempt == 2
    assert job.dispatched_at is None
    assert job.run.state == RunState.QUEUED


def test_valid_lease_is_not_reaped() -> None:
    site.running_job(site.worker())
    assert leases.reap() == 0


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(hours=1)], ids=["back", "forward"])
def test_clock_jump_of_the_site_expires_only_leases_of_silent_workers(
    jump: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = site.worker()
    living, silent = site.running_job(worker), site.running_job(worker)
    jumped = timezone.now() + jump
    monkeypatch.setattr(timezone, "now", lambda: jumped)
    leases.heartbeat(
        job_id=living.pk,
        attempt=1,
        worker=worker,
        phase="",
        log_tail="",
    )
    Job.objects.filter(pk=silent.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert leases.reap() == 1
    assert site.reload(living).state == JobState.RUNNING
    assert site.reload(silent).state == JobState.QUEUED


def test_job_is_lost_when_its_attempts_are_spent() -> None:
    job = site.running_job(site.worker())
    expire(job, max_attempts=1)
    leases.reap()
    job = site.reload(job)
    assert job.state == JobState.LOST
    assert job.run.state == RunState.FAILED
    assert "Lost after 1 attempts: its worker fell silent" in job.message


def test_restarted_worker_loses_its_claims() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    fleet.hello(
        worker=worker, boot_id="boot-2", device="cpu", facts={}, catalog=site.catalog(), builds=[]
    )
    job = site.reload(job)
    assert job.state == JobState.QUEUED
    assert job.attempt == 2


def test_same_process_keeps_its_claims_after_another_hello() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    fleet.hello(
        worker=worker, boot_id=site.BOOT, device="cpu", facts={}, catalog=site.catalog(), builds=[]
    )
    assert site.reload(job).state == JobState.RUNNING


def test_job_that_is_handed_back_is_queued_under_its_next_attempt() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    leases.hand_back(job_id=job.pk, attempt=1, worker=worker)
    job = site.reload(job)
    assert (job.state, job.attempt, job.lease_until) == (JobState.QUEUED, 2, None)


def test_attempt_that_ended_for_a_full_disk_does_not_count() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    allowed = job.max_attempts
    for attempt in range(1, allowed + 2):
        leases.hand_back(job_id=job.pk, attempt=attempt, worker=worker, counts=False)
        site.claim(job, worker)
    job = site.reload(job)
    assert job.state == JobState.RUNNING
    assert job.max_attempts - job.attempt == allowed - 1


def test_job_says_that_the_disk_of_its_worker_was_full() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    leases.hand_back(job_id=job.pk, attempt=1, worker=worker, counts=False)
    assert "the disk of its worker was full" in site.reload(job).message


def test_job_of_another_worker_cannot_be_handed_back() -> None:
    job = site.running_job(site.worker("w1"))
    with pytest.raises(Stale, match="is worker w1's, not w2's"):
        leases.hand_back(job_id=job.pk, attempt=1, worker=site.worker("w2"))


def test_waiting_job_is_expected_to_take_what_the_longest_of_its_run_took() -> None:
    finished_at = timezone.now()
    job, *others = site.run(site.MLP, site.GPT2).jobs.all()
    assert runs.expected_job_seconds(job) is None
    times = {"claimed_at": finished_at - timedelta(seconds=90), "finished_at": finished_at}
    Job.objects.filter(pk=others[0].pk).update(**times)
    assert runs.expected_job_seconds(job) == 90


def test_waiting_job_is_expected_to_take_what_its_case_took_the_last_time() -> None:
    job = alerting.measured([2.0]).last_job
    assert job
    finished_at = timezone.now()
    times = {"claimed_at": finished_at - timedelta(seconds=90), "finished_at": finished_at}
    Job.objects.filter(run__machine=job.run.machine_id).update(**times)
    assert runs.expected_job_seconds(job) == 90
