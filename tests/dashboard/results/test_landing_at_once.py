"""Results that land at the same time: who waits for whom, and how often detection is woken."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection, connections, transaction

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Series, Worker
from dashboard.results.services import days, detection_queue
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.queues import waiting

DAY = datetime(2026, 1, 1, tzinfo=UTC).date()


def landed(worker: Worker, config: str) -> int:
    """A result of this config; one of its series."""
    job = site.claim(site.queued_job(configs=(config,)), worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    series = Series.objects.filter(config__name=config)
    return series.values_list("pk", flat=True)[0]


def roll_up_elsewhere(series: int) -> None:
    """In a transaction of another connection, which gives up instead of waiting."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '200ms'")
            days.roll_up(series=[series], since=DAY)
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_results_of_other_configs_of_a_machine_do_not_wait_for_it() -> None:
    worker = site.worker()
    eager, *others = (landed(worker, config) for config in ("eager", "inductor", "regional"))
    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        days.roll_up(series=[eager], since=DAY)
        waits = [pool.submit(roll_up_elsewhere, other).exception() for other in others]
    assert None in waits  # one in 256 has the same lock by chance


@pytest.mark.django_db(transaction=True)
def test_results_of_one_family_and_config_wait_for_each_other() -> None:
    eager = landed(site.worker(), "eager")
    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        days.roll_up(series=[eager], since=DAY)
        with pytest.raises(OperationalError, match="lock timeout"):
            pool.submit(roll_up_elsewhere, eager).result()


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message is under way."""
    monkeypatch.setattr(detection_queue, "_wakes", detection_queue.Wakes())


def test_results_of_one_second_wake_detection_once(broker: EmbeddedBroker, wakes: None) -> None:
    for _ in range(3):
        detection_queue.wake()
    assert len(list(waiting(broker, "dashboard"))) == 1


def test_result_that_comes_later_wakes_it_again(
    broker: EmbeddedBroker, wakes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detection_queue, "GATHER_S", 0.0)
    for _ in range(2):
        detection_queue.wake()
    assert len(list(waiting(broker, "dashboard"))) == 2


def test_message_that_the_broker_did_not_take_is_sent_with_the_next_result(
    broker: EmbeddedBroker, wakes: None
) -> None:
    broker.stop()
    detection_queue.wake()
    broker.start()
    detection_queue.wake()
    assert len(list(waiting(broker, "dashboard"))) == 1
