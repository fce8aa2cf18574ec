"""A connection of the web server, and what has come of its next request.

The main thread collects head and body as they come, a large body on disk. A thread gets the request
once it is complete, and reads it from here: no thread ever waits for what a client sends.
"""

import re
import socket
import time
from contextlib import suppress
from errno import ECONNRESET
from http import HTTPStatus
from socket import MSG_PEEK, SO_RCVLOWAT, SO_SNDBUF, SOL_SOCKET
from tempfile import SpooledTemporaryFile
from typing import Any

from gunicorn import http
from gunicorn.workers.gthread import TConn

HEAD_BYTES = 64 * 1024
# Of a body: what may be an upload (an artifact has 64 MiB), anything else, and what stays in memory
UPLOAD_BYTES, BODY_BYTES, MEMORY_BYTES = 65 * 2**20, 4 * 2**20, 64 * 1024
UPLOADS = (b"/api/v1/worker/jobs/", b"/api/v1/results", b"/admin/import-results/")
PIECE_BYTES = 256 * 1024
# An answer of less than that holds no thread, however slowly its client takes it
SEND_BUFFER_BYTES = 256 * 1024
SLOWEST_BYTES = 64 * 1024  # a second, of a body or an answer
PATIENCE_S = 15.0
END_OF_HEAD = b"\r\n\r\n"
LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,15})[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
ENCODING = re.compile(rb"^transfer-encoding:", re.IGNORECASE | re.MULTILINE)
EXPECT = re.compile(rb"^expect:[ \t]*100-continue", re.IGNORECASE | re.MULTILINE)
# Looking like ones: who sends none cannot upload, and makes room for who does
CREDENTIALS = re.compile(
    rb"^(authorization:[ \t]*bearer[ \t]+\S|cookie:.*session)", re.IGNORECASE | re.MULTILINE
)
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
RETRY_AFTER_S = 5
REFUSALS = {
    HTTPStatus.UNAUTHORIZED: "A body of this size needs a token, as Authorization: Bearer TOKEN.",
    HTTPStatus.LENGTH_REQUIRED: "Send the body with a Content-Length, not in chunks.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is longer than what this address takes.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The headers are longer than 64 kB.",
    HTTPStatus.SERVICE_UNAVAILABLE: f"Too many requests. Send this again in {RETRY_AFTER_S} "
    "seconds. Measuring goes on: workers have capacity of their own.",
}


class ClientSocket(socket.socket):
    """A socket that takes a client for gone who takes an answer more slowly than SLOWEST_BYTES.

    patience_s: for how long it may still do so.
    """

    patience_s = PATIENCE_S

    def sendall(self, data: bytes, flags: int = 0, /) -> None:  # type: ignore[override]
        for start in range(0, len(data), PIECE_BYTES):
            piece = memoryview(data)[start : start + PIECE_BYTES]
            begun = time.monotonic()
            self.settimeout(max(self.patience_s, 0.01))
            try:
                super().sendall(piece, flags)
            except TimeoutError:
                raise ConnectionResetError(ECONNRESET, "the answer was taken too slowly") from None
            left = self.patience_s + len(piece) / SLOWEST_BYTES - (time.monotonic() - begun)
            self.patience_s = min(left, PATIENCE_S)


class Connection(TConn):
    """A client's connection.

    head: of its request, once it is complete. body_bytes: as the head says.
    missing: how much of the body has not come. timeout: until when the request has to be complete.
    share: the threads that serve it.
    is_refused: it was answered without being read; what still comes is dropped.
    """

    def __init__(self, configuration: Any, client: socket.socket, *addresses: Any) -> None:
        own = ClientSocket(fileno=client.detach())
        own.setsockopt(SOL_SOCKET, SO_SNDBUF, SEND_BUFFER_BYTES)
        super().__init__(configuration, own, *addresses)
        self.data_ready = True  # before a thread gets it
        self.expect_request()

    def expect_request(self) -> None:
        self.head = b""
        self.peeked = self.body_bytes = self.missing = 0
        self.share = ""
        self.has_credentials = self.is_refused = False
        self.sock.patience_s = PATIENCE_S
        # Until the next request, or the end
        self.received = SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115

    @property
    def path(self) -> bytes:
        """Path in "METHOD path HTTP/1.1"; empty where the head is something else."""
        words = self.head.split(b"\r\n", 1)[0].split(b" ")
        return words[1] if len(words) == 3 else b""

    @property
    def is_complete(self) -> bool:
        return bool(self.head) and not self.missing

    def init(self) -> None:
        """In a thread: a parser of what has been received."""
        self.sock.setblocking(True)
        self.parser = http.get_parser(self.cfg, self, self.client)

    def recv(self, size: int) -> bytes:
        """For the parser, which takes this for a socket."""
        return self.received.read(size)

    def receive(self) -> int:
        """Take what has come; how many bytes that are, 0: the client has closed. Raises OSError."""
        if self.is_refused:
            return len(self.sock.recv(PIECE_BYTES))
        if not self.head:
            return self._receive_head()
        piece = self.sock.recv(min(self.missing, PIECE_BYTES))
        self.received.write(piece)
        self.missing -= len(piece)
        self._rewind_if_complete()
        return len(piece)

    def _receive_head(self) -> int:
        """Look at a head without taking it until it is complete."""
        peeked = self.sock.recv(HEAD_BYTES, MSG_PEEK)
        new, self.peeked = len(peeked) - self.peeked, len(peeked)
        end = peeked.find(END_OF_HEAD)
        if end < 0:
            # Not before there are more bytes than now: the poller would wake up all the time
            self.sock.setsockopt(SOL_SOCKET, SO_RCVLOWAT, len(peeked) + 1)
            return new
        self.sock.setsockopt(SOL_SOCKET, SO_RCVLOWAT, 1)
        self.head = self.sock.recv(end + len(END_OF_HEAD))
        self.received.write(self.head)
        self.has_credentials = bool(CREDENTIALS.search(self.head))
        lengths = LENGTH.findall(self.head)
        # Of two lengths gunicorn takes none: it refuses the request
        self.body_bytes = self.missing = int(lengths[0]) if len(lengths) == 1 else 0
        self._rewind_if_complete()
        return new

    def _rewind_if_complete(self) -> None:
        if not self.missing:
            self.received.seek(0)

    def fault(self) -> HTTPStatus | None:
        """Return why the request is refused before its body has come; None where it is not."""
        if not self.head:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if self.peeked >= HEAD_BYTES else None
        if ENCODING.search(self.head):
            return HTTPStatus.LENGTH_REQUIRED
        limit = UPLOAD_BYTES if self.path.startswith(UPLOADS) else BODY_BYTES
        if self.body_bytes > limit:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        is_anonymous_upload = self.body_bytes > BODY_BYTES and not self.has_credentials
        return HTTPStatus.UNAUTHORIZED if is_anonymous_upload else None

    def invite_body(self) -> None:
        """Answer a client that asks whether it may send the body."""
        if self.missing and EXPECT.search(self.head):
            self.sock.send(CONTINUE)

    def refuse(self, status: HTTPStatus) -> None:
        """Answer from the main thread: the answer fits into the socket's empty buffer."""
        self.is_refused = True
        self.body_bytes = self.missing = 0
        self.sock.setsockopt(SOL_SOCKET, SO_RCVLOWAT, 1)
        detail = REFUSALS[status]
        kind, body = (
            "text/html; charset=utf-8",
            f"<!doctype html><title>{detail}</title><p>{detail}",
        )
        if self.path.startswith(b"/api/"):
            kind, body = "application/json", f'{{"detail": "{detail}"}}'
        again = ""
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            again = f"Retry-After: {RETRY_AFTER_S}\r\nRefresh: {RETRY_AFTER_S}\r\n"
        self.sock.send(
            f"HTTP/1.1 {status.value} {status.phrase}\r\nConnection: close\r\n{again}"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        self.sock.shutdown(socket.SHUT_WR)

    def close(self, graceful: bool = False) -> None:
        """Close at once: gunicorn's graceful end lets the main thread wait for the client."""
        self.received.close()
        if graceful:
            # Unread bytes would make the kernel take back what it has not sent yet
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)
                self.sock.setblocking(False)
                self.sock.recv(HEAD_BYTES)
        super().close()
