"""Messages go out when their jobs are committed, wait for a broker that is down, and are sent again
when lost.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.catalog.core.plan import Selection
from dashboard.catalog.services.suite_catalog import sync_catalog
from dashboard.celery import app
from dashboard.comparisons.services.comparisons import start_comparison
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Job, JobState, Run, RunState, Worker
from dashboard.runs.services.dispatch import SPARE, dispatch, priority, reset_lost_dispatches
from dashboard.runs.services.runs import retry_failed_jobs, trigger_run
from tests.builders import site
from tests.builders.queues import waiting

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


def received(broker: EmbeddedBroker) -> list[list[Any]]:
    return list(waiting(broker, site.machine().queue))


def some_run(jobs: int, **options: Any) -> Run:
    """A triggered run of so many jobs, whose first messages are out."""
    offered = [
        site.describe(f"mlp.smoke.inference.float32.static.b{size}", "toy")
        for size in range(1, jobs + 1)
    ]
    sync_catalog(catalog={**site.catalog(), "benchmarks": offered})
    where: dict[str, Any] = {
        "build": site.build().label,
        "machine": site.machine().key,
        "track": site.track().key,
    }
    run = trigger_run(
        **where, benchmarks=[each["name"] for each in offered], configs=["eager"], **options
    )
    dispatch()
    return run


Measure = Callable[[int], list[tuple[int, int]]]


@pytest.fixture
def measure(broker: EmbeddedBroker, django_capture_on_commit_callbacks: Any) -> Measure:
    """Has a worker claim so many jobs; the run of each and its place in it, in the order in which
    they came.
    """

    def claim_next(worker: Worker) -> tuple[int, int]:
        job_id, _ = next(waiting(broker, site.machine().queue))
        with django_capture_on_commit_callbacks(execute=True):
            job = site.claim(Job.objects.get(pk=job_id), worker)
        return job.run_id, job.position

    worker = site.worker()
    return lambda count: [claim_next(worker) for _ in range(count)]


def test_triggering_sends_each_jobs_id_and_attempt_in_order(
    broker: EmbeddedBroker, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = site.run(site.MLP, configs=["eager", "inductor"])
    assert received(broker) == [[str(job.pk), 1] for job in run.jobs.order_by("position")]
    run.refresh_from_db()
    assert run.state == RunState.QUEUED


def test_a_persons_run_goes_before_a_scheduled_one(broker: EmbeddedBroker) -> None:
    scheduled = site.run(purpose="scheduled").jobs.get()
    manual = site.run(purpose="manual").jobs.get()
    dispatch()
    assert received(broker) == [[str(manual.pk), 1], [str(scheduled.pk), 1]]


def test_a_confirmation_goes_before_a_persons_run(broker: EmbeddedBroker) -> None:
    manual, confirmation = (
        site.run(purpose=purpose).jobs.get() for purpose in ("manual", "confirmation")
    )
    dispatch()
    assert received(broker) == [[str(confirmation.pk), 1], [str(manual.pk), 1]]


def test_a_confirmation_goes_before_what_is_in_the_broker_already(broker: EmbeddedBroker) -> None:
    some_run(9)
    confirmation = some_run(1, purpose="confirmation").jobs.get()
    assert received(broker)[0] == [str(confirmation.pk), 1]


def test_less_urgent_jobs_wait_in_the_database(broker: EmbeddedBroker) -> None:
    manual, _ = some_run(9), some_run(9, purpose="scheduled")
    assert {Job.objects.get(pk=job_id).run for job_id, _ in received(broker)} == {manual}


def test_two_runs_alternate_and_keep_their_own_order(measure: Measure) -> None:
    first, second = some_run(60), some_run(60)
    taken = measure(120)
    assert [place for run, place in taken if run == first.pk] == list(range(60))
    assert [place for run, place in taken if run == second.pk] == list(range(60))
    assert [run for run, _ in taken[SPARE:-SPARE]] == [second.pk, first.pk] * (60 - SPARE)


def test_later_run_gets_every_other_turn_at_once(
    measure: Measure,
) -> None:
    long = some_run(60)
    measure(30)
    late = some_run(20)
    assert [run for run, _ in measure(12)] == [*[long.pk] * SPARE, *[late.pk, long.pk] * 5]


def test_retried_run_does_not_overtake_waiting_jobs(measure: Measure) -> None:
    failed = some_run(20)
    measure(20)
    Job.objects.filter(run=failed).update(state=JobState.FAILED)
    long = some_run(40)
    measure(20)
    retry_failed_jobs(run=failed)
    assert [run for run, _ in measure(11)] == [
        *[long.pk] * SPARE,
        failed.pk,
        *[failed.pk, long.pk] * 4,
    ]


def test_comparison_keeps_its_drawn_order_next_to_another_run(
    measure: Measure,
) -> None:
    sync_catalog(catalog=site.catalog())
    other, new = site.run(site.MLP, site.GPT2), site.build("2.14.0+cpu")
    selection = Selection(benchmarks=(site.MLP,), configs=("eager",))
    drawn = start_comparison(
        base=site.BUILD,
        new=new.label,
        machine="cpu-2c",
        selection=selection,
        repeats=6,
        libraries={},
    )
    dispatch()
    planned = (
        Job.objects.filter(run__comparison=drawn)
        .order_by("planned_at")
        .values_list("run_id", "position")
    )
    assert [claimed for claimed in measure(14) if claimed[0] != other.pk] == list(planned)


def test_the_broker_holds_a_few_messages_and_one_for_each_worker(broker: EmbeddedBroker) -> None:
    run = some_run(60)
    seen = [site.worker(name) for name in ("w1", "w2", "w3")]
    Worker.objects.filter(pk__in=[worker.pk for worker in seen]).update(last_seen=timezone.now())
    dispatch()
    assert len(received(broker)) == SPARE + 3
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    assert run.jobs.filter(state=JobState.QUEUED).count() == 60


@pytest.mark.parametrize(
    ("broker_url", "expected"), [("redis://x", [0, 1, 3]), ("amqp://x", [9, 8, 6])]
)
def test_priorities_follow_the_order_of_each_broker(
    monkeypatch: pytest.MonkeyPatch, broker_url: str, expected: list[int]
) -> None:
    monkeypatch.setattr(app.conf, "broker_url", broker_url)
    purposes = ("confirmation", "manual", "scheduled")
    assert [priority(site.run(purpose=purpose).jobs.get()) for purpose in purposes] == expected


def test_a_message_is_sent_once(broker: EmbeddedBroker) -> None:
    site.run()
    assert dispatch() == 1
    assert dispatch() == 0


def test_with_the_broker_down_jobs_wait_and_are_sent_when_it_is_back(
    broker: EmbeddedBroker,
) -> None:
    job = site.run().jobs.get()
    broker.stop()
    assert dispatch() == 0
    assert site.reload(job).dispatched_at is None
    broker.start()
    assert dispatch() == 1
    assert received(broker) == [[str(job.pk), 1]]


def lost_message() -> Job:
    job = site.queued_job()
    Job.objects.filter(pk=job.pk).update(dispatched_at=timezone.now() - LONG_AGO)
    return job


def test_a_message_that_an_idle_worker_never_got_is_sent_again() -> None:
    site.worker()
    type(site.worker("w2")).objects.update(last_seen=timezone.now())
    job = lost_message()
    assert reset_lost_dispatches() == 1
    assert site.reload(job).dispatched_at is None


def test_a_message_behind_a_running_job_is_not_sent_again() -> None:
    worker = site.worker()
    type(worker).objects.update(last_seen=timezone.now())
    site.running_job(worker)
    lost_message()
    assert reset_lost_dispatches() == 0


def test_message_for_an_idle_worker_is_sent_again_while_another_works() -> None:
    busy, idle = site.worker(), site.worker("w2")
    Worker.objects.filter(pk__in=[busy.pk, idle.pk]).update(last_seen=timezone.now())
    site.running_job(busy)
    lost_message()
    assert reset_lost_dispatches() == 1


def test_message_for_a_busy_worker_alone_is_not_sent_again() -> None:
    busy, _ = site.living_worker("w1"), site.living_worker("w2")
    site.running_job(busy)
    Job.objects.filter(pk=lost_message().pk).update(bound_to=busy)
    assert reset_lost_dispatches() == 0


def test_message_that_a_worker_with_a_full_disk_holds_is_not_sent_again() -> None:
    site.living_worker()
    Worker.objects.update(full_disk="The disk under / has 3 MB free.")
    lost_message()
    assert reset_lost_dispatches() == 0


def test_nothing_is_sent_again_without_a_living_worker() -> None:
    lost_message()
    assert reset_lost_dispatches() == 0
