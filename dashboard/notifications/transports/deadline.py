"""One deadline for the whole of a call, however many connections and answers it takes.

smtplib and the libraries under Apprise limit single operations at most: each address of a name,
each answer, each byte of it. A server that is just quick enough for those would hold the sender
without limit.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from dashboard.notifications.transports.message import NotSent

# A service with several recipients is asked for each in turn, and Apprise waits in between
DEADLINE_S = 30.0

Answer = TypeVar("Answer")


def no_answer(name: str, limit_s: float) -> NotSent:
    """Build the error for a channel that was not done in time, the same for each transport."""
    return NotSent(f"{name} did not answer within {limit_s:g} seconds.")


def within_deadline(name: str, call: Callable[[], Answer]) -> Answer:
    """Return or raise what the call does; raise NotSent, naming who did not answer, if it is late.

    A late call is left to itself, in a thread that does not keep the process: nothing else ends the
    wait for a name server. What it sends after all arrives besides the next attempt.
    """
    outcome = Future[Answer]()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(call))
        except Exception as error:
            outcome.set_exception(error)

    Thread(target=run, daemon=True).start()
    wait([outcome], DEADLINE_S)
    if not outcome.done():
        raise no_answer(name, DEADLINE_S)
    return outcome.result()
