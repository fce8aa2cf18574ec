"""Mail through the site's own server, which `EMAIL_URL` names."""

from collections.abc import Iterator

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from dashboard.notifications.transports.message import Address, NotSent
from dashboard.site import configuration
from tests.builders.messages import ENTRY, png, send
from tests.builders.receivers import Mailbox


@pytest.fixture
def own_server(inbox: Mailbox) -> Iterator[Mailbox]:
    backend = "django.core.mail.backends.smtp.EmailBackend"
    server = {"EMAIL_URL": "smtp://x", "EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": inbox.port}
    with override_settings(EMAIL_BACKEND=backend, DEFAULT_FROM_EMAIL="watch@example.org", **server):
        yield inbox


def test_own_mail_has_text_html_and_inline_chart(own_server: Mailbox) -> None:
    assert "took the mail to ada@example.org." in send(Address("mail:ada@example.org"), png())
    (text,) = own_server.parts("text/plain")
    (html,) = own_server.parts("text/html")
    (image,) = own_server.parts("image/png")
    assert "6.2% slower (5.1 to 7.4%)" in text.get_content()
    assert "cid:change.png" in html.get_content()
    assert image["Content-ID"] == "<change.png>"
    assert image.get_content_disposition() == "inline"


def test_own_mail_goes_to_each_recipient(own_server: Mailbox) -> None:
    send(Address("mail:ada@example.org, bob@example.org"))
    assert own_server.mails[0]["To"] == "ada@example.org, bob@example.org"
    assert own_server.mails[0]["From"] == "watch@example.org"
    assert own_server.mails[0]["Subject"] == ENTRY.subject


def test_own_mail_that_is_refused_reports_the_servers_words(own_server: Mailbox) -> None:
    own_server.refusal = "550 no such person here"
    with pytest.raises(NotSent, match="no such person here") as refused:
        send(Address("mail:ada@example.org"))
    assert not refused.value.permanent


def test_own_mail_without_a_server_is_refused_permanently() -> None:
    with pytest.raises(NotSent, match="set EMAIL_URL") as refused:
        send(Address("mail:ada@example.org"))
    assert refused.value.permanent


@pytest.mark.parametrize(
    ("url", "port", "uses_tls"),
    [
        ("smtp://h", 25, False),
        ("smtp+tls://u:p@h", 587, True),
        ("smtp+tls://h:2525", 2525, True),
    ],
)
def test_mail_server_is_read_from_its_url(url: str, port: int, uses_tls: bool) -> None:
    server = configuration.mail_server(url)
    assert server["EMAIL_PORT"] == port
    assert server.get("EMAIL_USE_TLS", False) is uses_tls


def test_mail_server_of_another_scheme_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"smtp\+tls://"):
        configuration.mail_server("https://smtp.example.org")
