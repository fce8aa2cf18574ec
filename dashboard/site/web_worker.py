"""The gunicorn worker of the site: benchmark workers have threads of their own, readers cannot take
them, and a connection takes a thread only once its request's head is complete.

1. A connection is accepted and waits in the poller, without a thread, for its first bytes.
2. `peek` looks at them without taking them: as long as the head is not complete, the connection
   goes on waiting, for at most HEAD_S.
3. The path in it says whose share serves it: `WORKERS` (the worker API and the probes) or readers.
4. Where MOST_READERS are being served or wait already, a further one is answered 503 at once.
"""

import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

WORKERS = (b"/api/v1/worker/", b"/healthz", b"/readyz", b"/metrics")
STATIC = b"/static/"  # a page without its style is worse than a page that is late
# Threads of either share, in each process. A page is mostly Python, of which a process runs one at
# a time: more readers at once would only make each of them slower, and the workers with them.
READER_THREADS, WORKER_THREADS = 3, 5
MOST_READERS = 24  # in each process: at 0.2 s a page, the last one waits some five seconds
HEAD_S = 10.0  # a head that takes longer is not a browser's
BODY_S = 60  # without a further byte of a body
HEAD_BYTES = 64 * 1024
END_OF_HEAD = b"\r\n\r\n"
# What is left of a larger body is not read after the answer: the connection then ends, and says so
READ_AWAY_BYTES = 2**20
RETRY_AFTER_S = 5
BUSY = (
    b"<!doctype html><html lang=en><meta charset=utf-8>"
    b'<meta http-equiv="refresh" content="%d"><title>Busy</title>'
    b"<h1>Too many pages are being read</h1>"
    b"<p>This page reloads in %d seconds. Measuring goes on: workers have capacity of their own.\n"
) % (RETRY_AFTER_S, RETRY_AFTER_S)
BUSY_JSON = b'{"detail": "Too many requests. Send this again in %d seconds."}' % RETRY_AFTER_S


class Threads:
    """Two pools; gunicorn submits a connection, whose share `place` has set."""

    def __init__(self) -> None:
        self.of_workers = ThreadPoolExecutor(WORKER_THREADS, "workers")
        self.of_readers = ThreadPoolExecutor(READER_THREADS, "readers")

    def submit(self, handle: Callable[[TConn], Any], connection: TConn) -> Future[Any]:
        if connection.is_reader:
            return self.of_readers.submit(handle, connection)
        return self.of_workers.submit(handle, connection)

    def shutdown(self, wait: bool = True) -> None:
        self.of_workers.shutdown(wait=wait)
        self.of_readers.shutdown(wait=wait)


class SharingWorker(ThreadWorker):
    """gunicorn's threaded worker; all but `handle` and `handle_request` run in its main thread."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.readers = 0  # that are served or wait for a thread

    def get_thread_pool(self) -> Threads:
        return Threads()

    def accept(self, listener: socket.socket) -> None:
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the other process was quicker, or the client has gone
        self.nr_conns += 1
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", BODY_S, 0))
        connection = TConn(self.cfg, client, address, listener.getsockname())
        connection.data_ready = True  # before a thread gets it
        self.wait_for_head(connection)

    def on_client_socket_readable(self, connection: TConn, client: socket.socket) -> None:
        """A kept connection has the first bytes of its next request."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(connection)
        connection.sock.setblocking(False)
        self.wait_for_head(connection)

    def on_pending_socket_readable(self, connection: TConn, client: socket.socket) -> None:
        """Further bytes of a head have come."""
        try:
            head = peek(client)
        except OSError:
            head = b""
        if len(head) == connection.head_bytes:  # nothing new: the client has closed
            self.stop_waiting(connection)
            self.end(connection)
        elif END_OF_HEAD in head or len(head) >= HEAD_BYTES:
            self.stop_waiting(connection)
            self.place(connection, head)
        else:
            # Not before there are more bytes than now: the poller would wake up all the time
            connection.head_bytes = len(head)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(head) + 1)

    def wait_for_head(self, connection: TConn) -> None:
        """Have `murder_pending` close it where the head is not complete in time."""
        connection.timeout = time.monotonic() + HEAD_S
        connection.head_bytes = 0
        self.pending_conns.append(connection)
        when_readable = partial(self.on_pending_socket_readable, connection)
        self.poller.register(connection.sock, EVENT_READ, when_readable)

    def stop_waiting(self, connection: TConn) -> None:
        self.poller.unregister(connection.sock)
        self.pending_conns.remove(connection)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    def place(self, connection: TConn, head: bytes) -> None:
        """Hand the connection to the threads of its share, or refuse it."""
        path = path_of(head)
        connection.is_reader = not path.startswith(WORKERS)
        if connection.is_reader and self.readers >= MOST_READERS and not path.startswith(STATIC):
            self.refuse(connection, path)
        else:
            self.enqueue_req(connection)

    def enqueue_req(self, connection: TConn) -> None:
        self.readers += connection.is_reader
        super().enqueue_req(connection)

    def finish_request(self, connection: TConn, outcome: Future[Any]) -> None:
        self.readers -= connection.is_reader
        super().finish_request(connection, outcome)

    def _cap_keepalive(self, deadline: float) -> None:
        """The worker stops: what waits without a request is closed as early as kept connections."""
        super()._cap_keepalive(deadline)
        for connection in self.pending_conns:
            connection.timeout = min(connection.timeout, deadline)

    def refuse(self, connection: TConn, path: bytes) -> None:
        """Answer 503 from the main thread: the answer fits into the socket's empty buffer."""
        kind, body = b"text/html; charset=utf-8", BUSY
        if path.startswith(b"/api/"):
            kind, body = b"application/json", BUSY_JSON
        try:
            connection.sock.recv(HEAD_BYTES)  # what is unread would make the end a reset
            connection.sock.send(
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                b"Retry-After: %d\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (RETRY_AFTER_S, kind, len(body), body)
            )
        except OSError:
            pass  # the client has gone
        self.end(connection)

    def end(self, connection: TConn) -> None:
        self.nr_conns -= 1
        connection.close()

    def handle_request(self, request: Any, connection: TConn) -> Any:
        """In a thread: serve it; after a large body the answer says that the connection ends."""
        length = dict(request.headers).get("CONTENT-LENGTH", "0")
        if int(length) > READ_AWAY_BYTES:
            request.force_close()
        return super().handle_request(request, connection)


def peek(client: socket.socket) -> bytes:
    """What a client has sent so far, which stays in the socket; empty: it has closed."""
    return client.recv(HEAD_BYTES, socket.MSG_PEEK)


def path_of(head: bytes) -> bytes:
    """The path of "METHOD path HTTP/1.1"; empty where the head is something else."""
    words = head.split(b"\r\n", 1)[0].split(b" ")
    return words[1] if len(words) == 3 else b""
