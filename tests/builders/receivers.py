"""Receivers of messages: a real mail server and a real HTTP server on this machine."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from threading import Event, Thread
from typing import Any

from aiosmtpd.controller import Controller

from tests.builders.http_servers import Quiet, serving
from tests.builders.local_site import free_port


@dataclass
class Mailbox:
    """A mail server.

    url: of a channel that leads to it
    refusal: its answer instead of accepting a mail
    """

    port: int
    mails: list[EmailMessage] = field(default_factory=list)
    refusal: str = ""

    @property
    def url(self) -> str:
        return f"mailto://127.0.0.1:{self.port}?from=compilewatch@example.org&to=ada@example.org"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.refusal:
            return self.refusal
        mail = message_from_bytes(envelope.content, policy=policy.default)
        self.mails.append(mail)
        return "250 OK"

    def parts(self, kind: str) -> list[EmailMessage]:
        """The parts of the only mail that are of a content type."""
        (mail,) = self.mails
        return [part for part in mail.walk() if part.get_content_type() == kind]


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox(free_port())
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()


@dataclass
class Receiver:
    """An HTTP server, which answers with its `status` and `headers`.

    url: of a webhook channel that leads to it
    """

    port: int
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"webhook+http://127.0.0.1:{self.port}/hook?team=a"


@contextmanager
def receiver() -> Iterator[Receiver]:
    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            target.requests.append((dict(self.headers), body))
            self.send_response(target.status)
            for name, value in target.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"thank you")

    with serving(Handler) as port:
        target = Receiver(port)
        yield target


@contextmanager
def slow_receiver(beginning: bytes = b"", drip: bytes = b"") -> Iterator[int]:
    """The port of a TCP server that never comes to an end: it sends the beginning at once, and then
    a drip now and then; without one it is silent.
    """
    ended = Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(0.05)
            with suppress(OSError):
                connection.sendall(beginning)
                while not ended.is_set() and not has_left(connection):
                    connection.sendall(drip)

    def has_left(connection: socket.socket) -> bool:
        try:
            return connection.recv(4096) == b""
        except TimeoutError:
            return False

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            thread.join()
