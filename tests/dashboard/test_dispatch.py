"""Messages go out when their jobs are committed, wait for a broker that is down, and are sent again when lost."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from kombu import Connection, Queue

from dashboard.celery import app
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Job, RunState
from dashboard.services import fleet
from dashboard.services.dispatch import FAIR_SHARE, dispatch, priority, recall_forgotten
from dashboard.services.runs import trigger_run
from tests.builders import site

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(minutes=5)


def received(broker: EmbeddedBroker) -> list[list[object]]:
    """The arguments of the queued messages, in the order in which a worker gets them."""
    options = {"priority_steps": list(range(10)), "queue_order_strategy": "priority"}
    with Connection(broker.url, transport_options=options) as connection:
        queue = Queue(site.machine().queue, channel=connection.default_channel)
        messages = iter(partial(queue.get, no_ack=True), None)
        return [message.payload[0] for message in messages if message]


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
    manual, confirmation = (site.run(purpose=purpose).jobs.get() for purpose in ("manual", "confirmation"))
    dispatch()
    assert received(broker) == [[str(confirmation.pk), 1], [str(manual.pk), 1]]


def test_a_small_run_does_not_wait_for_the_rest_of_a_large_one(broker: EmbeddedBroker) -> None:
    large = site.run(site.MLP, configs=["eager", "inductor"])
    first, rest = large.jobs.order_by("position")
    Job.objects.filter(pk=rest.pk).update(position=FAIR_SHARE)
    small = site.run().jobs.get()
    dispatch()
    assert received(broker) == [[str(job.pk), 1] for job in (first, small, rest)]


def test_five_jobs_that_came_second_wait_for_a_share_of_two_hundred(broker: EmbeddedBroker) -> None:
    offered = [site.describe(f"mlp.smoke.inference.float32.static.b{size}", "toy") for size in range(1, 201)]
    fleet.sync_catalog(catalog={**site.catalog(), "benchmarks": offered})
    where: dict[str, Any] = {"build": site.build().label, "machine": site.machine().key, "track": site.track().key}
    names = [each["name"] for each in offered]
    runs = [
        trigger_run(**where, benchmarks=benchmarks, configs=["eager"], purpose="scheduled")
        for benchmarks in (names, names[:5])
    ]
    assert dispatch() == 205
    first, second = ([[str(job.pk), 1] for job in run.jobs.order_by("position")] for run in runs)
    assert received(broker) == [*first[:FAIR_SHARE], *second, *first[FAIR_SHARE:]]


@pytest.mark.parametrize(("broker_url", "expected"), [("redis://x", [0, 2, 6]), ("amqp://x", [9, 7, 3])])
def test_each_broker_is_told_in_its_own_order(
    monkeypatch: pytest.MonkeyPatch, broker_url: str, expected: list[int]
) -> None:
    monkeypatch.setattr(app.conf, "broker_url", broker_url)
    purposes = ("confirmation", "manual", "scheduled")
    assert [priority(site.run(purpose=purpose).jobs.get()) for purpose in purposes] == expected


def test_a_message_is_sent_once(broker: EmbeddedBroker) -> None:
    site.run()
    assert (dispatch(), dispatch()) == (1, 0)


def test_with_the_broker_down_jobs_wait_and_are_sent_when_it_is_back(broker: EmbeddedBroker) -> None:
    job = site.run().jobs.get()
    broker.stop()
    assert dispatch() == 0
    assert site.reload(job).dispatched_at is None
    broker.start()
    assert dispatch() == 1
    assert received(broker) == [[str(job.pk), 1]]


def forgotten_job() -> Job:
    job = site.queued_job()
    Job.objects.filter(pk=job.pk).update(dispatched_at=timezone.now() - LONG_AGO)
    return job


def test_a_message_that_an_idle_worker_never_got_is_sent_again() -> None:
    site.worker()
    type(site.worker("w2")).objects.update(last_seen=timezone.now())
    job = forgotten_job()
    assert recall_forgotten() == 1
    assert site.reload(job).dispatched_at is None


def test_a_message_behind_a_running_job_is_not_sent_again() -> None:
    worker = site.worker()
    type(worker).objects.update(last_seen=timezone.now())
    site.running_job(worker)
    forgotten_job()
    assert recall_forgotten() == 0


def test_nothing_is_sent_again_while_no_worker_lives() -> None:
    forgotten_job()
    assert recall_forgotten() == 0
