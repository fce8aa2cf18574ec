"""Messages that wait in the broker for benchmark workers."""

from collections.abc import Iterator
from typing import Any

from kombu import Connection, Queue

from dashboard.local.embedded_broker import EmbeddedBroker


def waiting(broker: EmbeddedBroker, queue: str) -> Iterator[list[Any]]:
    """The arguments of the queue's messages, in the order in which a worker gets them."""
    transport = {"priority_steps": list(range(10)), "queue_order_strategy": "priority"}
    with Connection(broker.url, transport_options=transport) as connection:
        bound = Queue(queue, channel=connection.default_channel)
        while message := bound.get(no_ack=True):
            yield message.payload[0]
