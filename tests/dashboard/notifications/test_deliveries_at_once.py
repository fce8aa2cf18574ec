"""At the same time: one of two senders sends, one of two schedulers makes the deliveries."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import monotonic, sleep

import pytest
from django.db import connection, connections, transaction

from dashboard.models import Delivery
from dashboard.notifications.services import deliveries
from dashboard.notifications.transports.message import Address, Message
from tests.builders.notifications import NOW, channel, confirmed, rule, taken, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_one_of_two_concurrent_senders_sends() -> None:
    delivery, start, sent = waiting(), Barrier(2), []

    def count(to: Address, message: Message, key: str) -> str:
        sent.append(key)
        return "taken"

    def sender(_: int) -> bool:
        try:
            start.wait(timeout=10)
            return deliveries.send(
                delivery_id=delivery.pk,
                now=NOW,
                transport=count,
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(sender, range(2))) == [False, True]
    assert len(sent) == 1


def test_sender_that_waited_for_a_claim_does_not_send() -> None:
    delivery = waiting()

    def sender() -> bool:
        try:
            return deliveries.send(
                delivery_id=delivery.pk,
                now=NOW,
                transport=taken,
            )
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Delivery.objects.filter(pk=delivery.pk).update(state=Delivery.State.SENDING)
            late = pool.submit(sender)
            wait_for_a_lock()
        assert late.result() is False


def wait_for_a_lock() -> None:
    """Until another connection waits for a lock."""
    deadline = monotonic() + 60
    with connection.cursor() as cursor:
        while not cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()[0]:
            assert monotonic() < deadline, "nobody waits for a lock"
            sleep(0.01)


def test_only_one_of_two_concurrent_schedulers_makes_deliveries() -> None:
    rule(channel())
    confirmed()
    start = Barrier(2)

    def scheduler(_: int) -> int:
        try:
            start.wait(timeout=10)
            return deliveries.enqueue_deliveries(now=NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(scheduler, range(2)))
    assert Delivery.objects.count() == 1
