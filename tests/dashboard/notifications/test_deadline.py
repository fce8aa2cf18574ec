"""Mail servers and services that are slow without end: each channel has one deadline for all."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

import pytest
from django.test import override_settings

from dashboard.notifications.transports import deadline
from dashboard.notifications.transports.message import Address, NotSent
from tests.builders.messages import send
from tests.builders.receivers import slow_receiver

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
    with slow_receiver() as port, own_server(port):
        refusal = given_up(Address("mail:ada@example.org"), f"127.0.0.1 {NEVER}")
    assert not refusal.permanent


def test_mail_server_whose_answer_drips_in_is_given_up() -> None:
    with slow_receiver(b"220 hello", b" x") as port, own_server(port):
        given_up(Address("mail:ada@example.org"), f"127.0.0.1 {NEVER}")


def test_single_answer_that_takes_too_long_is_reported_in_the_same_words() -> None:
    with slow_receiver() as port, own_server(port, timeout_s=0.1):
        given_up(Address("mail:ada@example.org"), r"127.0.0.1 did not answer within 0\.1 seconds")


# --- Services of Apprise
@pytest.mark.parametrize("url", ["gotify://127.0.0.1:{}/0123456789abcde", "mailto://127.0.0.1:{}"])
def test_service_that_never_answers_is_given_up(url: str) -> None:
    with slow_receiver() as port:
        address = url.format(port) + "?from=a@example.org&to=b@example.org"
        given_up(Address(address, allow_private=True))


def test_service_whose_answer_drips_in_is_given_up() -> None:
    with slow_receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n", b"x") as port:
        address = f"gotify://127.0.0.1:{port}/0123456789abcde"
        given_up(Address(address, allow_private=True), f"Gotify {NEVER}")


# --- The deadline itself
def test_wait_that_no_connection_ends_is_given_up() -> None:
    """As for a name server."""
    began = monotonic()
    with pytest.raises(NotSent, match=f"it {NEVER}"):
        deadline.within_deadline("it", lambda: sleep(2))
    assert monotonic() - began < 1.5


@pytest.mark.parametrize("error", [TimeoutError("of its own"), ValueError("wrong")])
def test_error_of_the_call_is_raised_as_it_is(error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        deadline.within_deadline("it", fail)
