"""The gunicorn worker of the site: benchmark workers have threads of their own, readers cannot take
them, and a connection takes a thread only once its request is complete.

1. A connection is accepted and waits in the poller, without a thread, for its first bytes.
2. The main thread collects its request (`web_connection`), a head for at most HEAD_S, a body for
   BODY_S and a second for each SLOWEST_BYTES.
3. The path in it says whose share serves it: `WORKERS` (the worker API and the probes), DOWNLOADS
   or readers.
4. Where the MOST of a share are served or wait already, a further one is answered 503 at once.
5. Where too many connections wait, the one that has waited longest is closed, where too much of
   their bodies, the largest; in both cases first one without credentials.
"""

import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from dashboard.site.web_connection import SLOWEST_BYTES, Connection

WORKERS = (b"/api/v1/worker/", b"/healthz", b"/readyz", b"/metrics")
# Answers that may not fit into a socket's buffer: a slow client holds their thread
DOWNLOADS = re.compile(rb"/export[/.]|^/artifacts/|^/static/plotly/")
STATIC = b"/static/"  # a page without its style is worse than a page that is late
# Of each share, in each process. A page is mostly Python, of which a process runs one at a time:
# more readers at once would only make each of them slower, and the workers with them. A download
# may take minutes: it holds no reader's thread.
THREADS = {"workers": 5, "readers": 3, "downloads": 2}
# At 0.2 s a page, the last reader waits some five seconds
MOST = {"readers": 24, "downloads": 4}
HEAD_S = 10.0  # a head that takes longer is not a browser's
BODY_S = 30.0
REFUSED_S = 10.0  # in which a client may still send what is dropped
# In each process. A process may have 1,024 files open
MOST_CONNECTIONS, MOST_WAITING_BYTES = 400, 256 * 2**20
CLOSED = -1  # to make room, after the poller had found something of it


class Threads:
    """A pool a share; gunicorn submits a connection, whose share `place` has set."""

    def __init__(self) -> None:
        self.of = {share: ThreadPoolExecutor(most, share) for share, most in THREADS.items()}

    def submit(self, handle: Callable[[Connection], Any], connection: Connection) -> Future[Any]:
        return self.of[connection.share].submit(handle, connection)

    def shutdown(self, wait: bool = True) -> None:
        for pool in self.of.values():
            pool.shutdown(wait=wait)


class SharingWorker(ThreadWorker):
    """gunicorn's threaded worker; all but `handle` and `handle_request` run in its main thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.served = Counter[str]()  # or waiting for a thread, of each share

    def get_thread_pool(self) -> Threads:
        return Threads()

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the other process was quicker, or the client has gone
        self.nr_conns += 1
        if self.nr_conns > MOST_CONNECTIONS:
            self.make_room()
        connection = Connection(self.cfg, client, address, listener.getsockname())
        self.wait_for_request(connection)

    def on_client_socket_readable(self, connection: Connection, client: socket.socket) -> None:
        """A kept connection has the first bytes of its next request."""
        if client.fileno() == CLOSED:
            return
        self.poller.unregister(client)
        self.keepalived_conns.remove(connection)
        client.setblocking(False)
        connection.expect_request()
        self.wait_for_request(connection)

    def wait_for_request(self, connection: Connection) -> None:
        """Have `murder_pending` close it where the head is not complete in time."""
        connection.timeout = time.monotonic() + HEAD_S
        self.pending_conns.append(connection)
        when_readable = partial(self.on_pending_socket_readable, connection)
        self.poller.register(connection.sock, EVENT_READ, when_readable)

    def on_pending_socket_readable(self, connection: Connection, client: socket.socket) -> None:
        """More of a request has come."""
        if client.fileno() == CLOSED:
            return
        waiting, had_head = self.pending_conns, bool(connection.head)
        try:
            number = connection.receive()
            if number and not had_head and not connection.is_refused:
                self.check_head(connection)
        except OSError:
            number = 0
        if not number:  # the client has closed
            self.drop(connection)
        elif connection.is_complete and not connection.is_refused:
            self.stop_waiting(connection)
            self.place(connection)
        else:
            while sum(each.body_bytes - each.missing for each in waiting) > MOST_WAITING_BYTES:
                self.drop(
                    max(
                        waiting, key=lambda of: (not of.has_credentials, of.body_bytes - of.missing)
                    )
                )

    def check_head(self, connection: Connection) -> None:
        """Refuse the request, or wait for its body. Raises OSError where the client has gone."""
        now = time.monotonic()
        if fault := connection.fault():
            connection.refuse(fault)
            connection.timeout = now + REFUSED_S
        elif connection.missing:
            connection.timeout = now + BODY_S + connection.missing / SLOWEST_BYTES
            connection.invite_body()

    def stop_waiting(self, connection: Connection) -> None:
        self.poller.unregister(connection.sock)
        self.pending_conns.remove(connection)

    def drop(self, connection: Connection) -> None:
        """Close a connection whose request is not complete."""
        self.stop_waiting(connection)
        self.end(connection)

    def make_room(self) -> None:
        """Close who has waited longest, first of those who have no request under way."""
        if self.keepalived_conns:
            connection = self.keepalived_conns.popleft()
            self.poller.unregister(connection.sock)
            self.end(connection)
        elif self.pending_conns:
            self.drop(min(self.pending_conns, key=lambda waiting: waiting.has_credentials))

    def murder_pending(self) -> None:
        """Close what was not complete in time."""
        now = time.monotonic()
        for connection in [each for each in self.pending_conns if each.timeout <= now]:
            self.drop(connection)

    def place(self, connection: Connection) -> None:
        """Hand the connection to the threads of its share, or refuse it."""
        path = connection.path
        if path.startswith(WORKERS):
            connection.share = "workers"
        else:
            connection.share = "downloads" if DOWNLOADS.search(path) else "readers"
        is_full = self.served[connection.share] >= MOST.get(connection.share, MOST_CONNECTIONS)
        if is_full and not path.startswith(STATIC):
            self.refuse(connection)
        else:
            self.enqueue_req(connection)

    def enqueue_req(self, connection: Connection) -> None:
        self.served[connection.share] += 1
        super().enqueue_req(connection)

    def finish_request(self, connection: Connection, outcome: Future[Any]) -> None:
        self.served[connection.share] -= 1
        super().finish_request(connection, outcome)

    def _cap_keepalive(self, deadline: float) -> None:
        """The worker stops: what waits without a request is closed as early as kept connections."""
        super()._cap_keepalive(deadline)
        for connection in self.pending_conns:
            connection.timeout = min(connection.timeout, deadline)

    def refuse(self, connection: Connection) -> None:
        with suppress(OSError):  # the client has gone
            connection.refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        self.end(connection)

    def end(self, connection: Connection) -> None:
        self.nr_conns -= 1
        connection.close()

    def handle_request(self, request: Any, connection: Connection) -> Any:
        """In a thread."""
        request._expected_100_continue = False  # invited already
        length = dict(request.headers).get("CONTENT-LENGTH", "0")
        if int(length) != connection.body_bytes:  # gunicorn reads the head otherwise than we do
            request.force_close()
        connection.received.seek(len(connection.head))
        request.body = connection.received
        return super().handle_request(request, connection)

    def _keepalive_after(self, connection: Connection, keepalive: Any) -> bool:
        """Forget what was not read of the body, which has come: nothing is left in the socket."""
        connection.parser.unreader.take_buffered()
        connection.received.close()
        return bool(keepalive)
