"""Celery's consumer, which outlives RabbitMQ's consumer timeout.

RabbitMQ takes back a message that nobody acknowledged for its `consumer_timeout` (30 minutes), and
closes the channel. To Celery that is an error beyond repair, and the worker would stop after its
job. Here it connects again; the message comes again, waits behind the job that runs, and is
answered 409 when its turn comes.
"""

import time
from typing import Any

from amqp.exceptions import PreconditionFailed  # type: ignore[import-untyped]
from celery.worker.consumer import Consumer

# RabbitMQ sends the same code for a queue that was declared otherwise: trying again at once, and
# for ever, would not change that
PAUSE_S = 1.0


class PatientConsumer(Consumer):  # type: ignore[misc]  # celery has no types
    """Treats a closed channel as a lost connection."""

    connection_errors: tuple[type[Exception], ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.connection_errors = (*self.connection_errors, PreconditionFailed)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        super().on_connection_error_after_connected(exc)
        if isinstance(exc, PreconditionFailed):
            time.sleep(PAUSE_S)
