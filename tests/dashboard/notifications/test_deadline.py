"""Mail servers and services that are slow without end: each channel has one deadline for all."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import pytest
from django.test import override_settings

from dashboard.notifications.transports import deadline
from dashboard.notifications.transports.message import Address, NotSent
from tests.builders.messages import send
from tests.builders.receivers import Mailbox, slow_receiver

NEVER = r"did not answer within 0\.3 seconds\."


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "DEADLINE_S", 0.3)


@contextmanager
def own_server(port: int, timeout_s: float = 10) -> Iterator[None]:
    with override_settings(
        EMAIL_BACKEND="django.core.mail.backends.smtp.EmailBackend",
        EMAIL_URL="smtp://x",
        EMAIL_HOST="127.0.0.1",
        EMAIL_PORT=port,
        EMAIL_TIMEOUT=timeout_s,
    ):
        yield


def given_up(to: Address, words: str = NEVER) -> NotSent:
    """The refusal, which has to come soon."""
    began = monotonic()
    with pytest.raises(NotSent, match=words) as refused:
        send(to)
    assert monotonic() - began < 3
    return refused.value


# --- The site's own mail server
def test_mail_server_that_never_answers_is_given_up() -> None:
    with slow_receiver() as slow, own_server(slow.port):
        refusal = given_up(Address("mail:ada@example.org"), f"127.0.0.1 {NEVER}")
    assert not refusal.permanent


def test_mail_server_whose_answer_drips_in_is_given_up() -> None:
    with slow_receiver(b"220 hello", b" x") as slow, own_server(slow.port):
        given_up(Address("mail:ada@example.org"), f"127.0.0.1 {NEVER}")


def test_single_answer_that_takes_too_long_is_reported_in_the_same_words() -> None:
    with slow_receiver() as slow, own_server(slow.port, timeout_s=0.1):
        given_up(Address("mail:ada@example.org"), r"127.0.0.1 did not answer within 0\.1 seconds")


def test_mail_server_is_left_at_the_deadline() -> None:
    """What counts as not sent must not arrive later."""
    with slow_receiver() as slow, own_server(slow.port):
        given_up(Address("mail:ada@example.org"))
        assert slow.was_left.wait(2)


def test_mail_that_was_taken_counts_even_if_the_goodbye_is_late(inbox: Mailbox) -> None:
    async def handle_quit(*_: object) -> str:
        await asyncio.sleep(2)
        return "221 bye"

    inbox.handle_QUIT = handle_quit  # type: ignore[attr-defined]  # a hook of aiosmtpd
    with own_server(inbox.port):
        assert "took the mail" in send(Address("mail:ada@example.org"))
    assert len(inbox.mails) == 1


# --- Services of Apprise
@pytest.mark.parametrize("url", ["gotify://127.0.0.1:{}/0123456789abcde", "mailto://127.0.0.1:{}"])
def test_service_that_never_answers_is_given_up(url: str) -> None:
    with slow_receiver() as slow:
        address = url.format(slow.port) + "?from=a@example.org&to=b@example.org"
        given_up(Address(address, allow_private=True))
        assert slow.was_left.wait(2)


def test_service_whose_answer_drips_in_is_given_up() -> None:
    with slow_receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n", b"x") as slow:
        address = f"gotify://127.0.0.1:{slow.port}/0123456789abcde"
        given_up(Address(address, allow_private=True), f"Gotify {NEVER}")
        assert slow.was_left.wait(2)


# --- The deadline itself
def test_wait_that_no_connection_ends_is_given_up() -> None:
    """As for a name server."""
    began = monotonic()
    with pytest.raises(NotSent, match=f"it {NEVER}"):
        deadline.within_deadline("it", lambda: sleep(2))
    assert monotonic() - began < 1.5


def test_late_call_makes_no_new_connection() -> None:
    outcome: list[Exception] = []

    def connect_late() -> None:
        sleep(0.6)
        try:
            socket.create_connection(listener.getsockname())
        except OSError as error:
            outcome.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(NotSent):
        deadline.within_deadline("it", connect_late)
    assert isinstance(outcome[0], TimeoutError)


@pytest.mark.parametrize("error", [TimeoutError("of its own"), ValueError("wrong")])
def test_error_of_the_call_is_raised_as_it_is(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        deadline.within_deadline("it", fail)


def test_connection_outside_of_a_call_is_made_as_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
