"""Results that land at the same time wake detection once."""

import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.results.services import detection_queue
from tests.builders.queues import waiting


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
