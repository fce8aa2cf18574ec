"""`make up` prints in the terminal when a job ends, and how far its run is."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from dashboard.local.programs import programs
from dashboard.models import Job, JobState, Status, Worker
from dashboard.runs.selectors.progress import ended_since, lines
from dashboard.site.progress_lines import follow
from tests.builders import site

pytestmark = pytest.mark.django_db


def end(job: Job, now: datetime, status: str = Status.PASS, message: str = "") -> None:
    """End the job at `now` after 20 seconds."""
    state = JobState.DONE if status == Status.PASS else JobState.FAILED
    began = now - timedelta(seconds=20)
    Job.objects.filter(pk=job.pk).update(
        state=state, status=status, message=message, claimed_at=began, finished_at=now
    )


def test_ended_job_is_printed_with_its_case_status_and_time_and_the_progress_of_its_run() -> None:
    now = timezone.now()
    first, _ = site.run(configs=("eager", "inductor")).jobs.order_by("position")
    end(first, now)
    assert lines(ended_since(now - timedelta(seconds=1)), now) == [
        f"{site.MLP} eager: pass after 20 s",
        f"run {first.run_id}: 1 of 2 jobs done",
    ]


def test_failed_job_is_printed_with_the_reason() -> None:
    now = timezone.now()
    job = site.run().jobs.get()
    end(job, now, Status.OOM, "the kernel killed it")
    job_line, run_line = lines(ended_since(now - timedelta(seconds=1)), now)
    assert job_line.endswith("oom after 20 s: the kernel killed it")
    assert run_line.endswith("1 of 1 job done, 1 not passed")


def test_time_left_is_printed_while_a_worker_is_online() -> None:
    now = timezone.now()
    first, *_ = site.run(configs=("eager", "inductor", "regional")).jobs.order_by("position")
    Worker.objects.filter(pk=site.worker().pk).update(last_seen=now)
    end(first, now)
    assert "about 2 min left" in lines(ended_since(now - timedelta(seconds=1)), now)[1]


class Enough(Exception):
    """Ends what would go on for ever."""


def test_job_is_written_when_it_ends() -> None:
    job = site.run().jobs.get()
    end(job, timezone.now() + timedelta(minutes=1))  # after the first look
    written: list[str] = []

    def write(line: str) -> None:
        written.append(line)
        if line.startswith("run "):
            raise Enough

    with pytest.raises(Enough):
        follow(write, every_s=0)
    assert written[0] == f"{site.MLP} eager: pass after 20 s"


def test_scheduler_alone_writes_it() -> None:
    started = {program.name: program for program in programs({}, 8000)}
    printing = [name for name in started if "PRINT_PROGRESS" in started[name].environment]
    assert printing == ["scheduler"]


def test_ended_job_is_printed_once() -> None:
    now = timezone.now()
    end(site.run().jobs.get(), now)
    assert ended_since(now) == []
