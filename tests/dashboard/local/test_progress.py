"""`make up` tells in the terminal when a job ends, and how far its run is."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from dashboard.models import Job, JobState, Status, Worker
from dashboard.runs.selectors.progress import ended_since, lines
from tests.builders import site

pytestmark = pytest.mark.django_db


def end(job: Job, now: datetime, status: str = Status.PASS, message: str = "") -> None:
    """The job ended at `now` after 20 seconds."""
    state = JobState.DONE if status == Status.PASS else JobState.FAILED
    began = now - timedelta(seconds=20)
    Job.objects.filter(pk=job.pk).update(
        state=state, status=status, message=message, claimed_at=began, finished_at=now
    )


def test_a_job_that_ended_is_told_with_its_case_status_and_time_and_how_far_the_run_is() -> None:
    now = timezone.now()
    first, _ = site.run(configs=("eager", "inductor")).jobs.order_by("position")
    end(first, now)
    assert lines(ended_since(now - timedelta(seconds=1)), now) == [
        f"{site.MLP} eager: pass after 20 s",
        f"run {first.run_id}: 1 of 2 jobs done",
    ]


def test_a_job_that_failed_is_told_with_the_reason() -> None:
    now = timezone.now()
    job = site.run().jobs.get()
    end(job, now, Status.OOM, "the kernel killed it")
    told = lines(ended_since(now - timedelta(seconds=1)), now)
    assert told[0].endswith("oom after 20 s: the kernel killed it")
    assert told[1].endswith("1 of 1 job done, 1 not passed")


def test_the_time_left_is_told_when_a_worker_is_at_work() -> None:
    now = timezone.now()
    first, *_ = site.run(configs=("eager", "inductor", "regional")).jobs.order_by("position")
    Worker.objects.filter(pk=site.worker().pk).update(last_seen=now)
    end(first, now)
    assert "about 1 min left" in lines(ended_since(now - timedelta(seconds=1)), now)[1]


def test_what_was_told_is_not_told_again() -> None:
    now = timezone.now()
    end(site.run().jobs.get(), now)
    assert ended_since(now) == []
