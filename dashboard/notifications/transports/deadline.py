"""One deadline for the whole of a call, however many connections and answers it takes.

smtplib and the libraries under Apprise limit single operations at most: each address of a name,
each answer, each byte of it. A server that is just quick enough for those would hold the sender
without limit.
"""

import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar, copy_context
from threading import Lock
from typing import Any, TypeVar

from dashboard.notifications.transports.message import NotSent

# A service with several recipients is asked for each in turn, and Apprise waits in between
DEADLINE_S = 30.0
_ENDING_S = 1.0  # in which a call notices that its connections were ended

Answer = TypeVar("Answer")


class _Connections:
    """The connections of one call, as duplicates: the socket itself is replaced when TLS begins."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: list[socket.socket] = []
        self._is_over = False

    def add(self, connection: socket.socket) -> None:
        with self._lock:
            if self._is_over:
                raise TimeoutError("The deadline is over.")
            self._open.append(socket.socket(fileno=os.dup(connection.fileno())))

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            for connection in self._open:
                with suppress(OSError):  # it is not connected any more
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()


def no_answer(name: str, limit_s: float) -> NotSent:
    """What is said of a channel that was not done in time: the same of each transport."""
    return NotSent(f"{name} did not answer within {limit_s:g} seconds.")


def within_deadline(name: str, call: Callable[[], Answer]) -> Answer:
    """What the call returns, true where the message was taken, or raises; NotSent, which names who
    did not answer, when it is late.

    The call runs in a thread, since nothing else ends the wait for a name server. When it is late
    its connections are ended, and it cannot make new ones: so the thread ends as well, and a
    message that counts as not sent does not arrive later. One that had been taken by then counts
    as sent: what was late may have been the goodbye alone.
    """
    connections = _Connections()
    context = copy_context()
    context.run(_of_call.set, connections)
    pool = ThreadPoolExecutor(1)
    outcome = pool.submit(context.run, call)
    try:
        wait([outcome], DEADLINE_S)
        is_late = not outcome.done()
    finally:
        connections.end()
        pool.shutdown(wait=False)
    if not is_late:
        return outcome.result()
    wait([outcome], _ENDING_S)
    if outcome.done() and not outcome.exception() and (answer := outcome.result()):
        return answer
    raise no_answer(name, DEADLINE_S)


def _connect_listed(connection: Any, address: Any) -> None:
    """socket.socket.connect, which smtplib, urllib3 and ssl call."""
    connections = _of_call.get()
    if connections is not None:
        connections.add(connection)
    _connect(connection, address)


_of_call: ContextVar[_Connections | None] = ContextVar("_of_call", default=None)
_connect = socket.socket.connect
socket.socket.connect = _connect_listed  # type: ignore[method-assign]
