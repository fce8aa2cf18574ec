"""Our own webhook: signed JSON over real HTTP, to public addresses alone."""

import json
import socket
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from dashboard.accounts.core.public_addresses import is_public
from dashboard.notifications.transports import addresses, channels, webhook
from dashboard.notifications.transports.message import Address, NotSent
from tests.builders.messages import send
from tests.builders.receivers import Receiver, receiver, slow_receiver


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def test_webhook_receives_the_signed_document(hook: Receiver) -> None:
    assert send(Address(hook.url, "s3cret", allow_private=True)) == "200 OK: thank you"
    ((headers, body),) = hook.requests
    expected = webhook.signature(body, "s3cret", int(headers["X-Compilewatch-Timestamp"]))
    assert headers["X-Compilewatch-Signature"] == f"sha256={expected}"
    assert json.loads(body)["alerts"][0]["id"] == 7
    assert json.loads(body)["delivery"] == "5"
    assert headers["X-Compilewatch-Delivery"] == "5"
    assert headers["Host"] == f"127.0.0.1:{hook.port}"


def test_webhook_without_a_secret_is_not_signed(hook: Receiver) -> None:
    send(Address(hook.url, allow_private=True))
    assert "X-Compilewatch-Signature" not in hook.requests[0][0]


@pytest.mark.parametrize(
    ("status", "permanent"),
    [
        (500, False),
        (429, False),
        (404, True),
        (410, True),
        (401, True),
    ],
)
def test_webhook_status_decides_whether_to_retry(
    hook: Receiver, status: int, permanent: bool
) -> None:
    hook.status = status
    with pytest.raises(NotSent, match=str(status)) as refused:
        send(Address(hook.url, allow_private=True))
    assert refused.value.permanent is permanent


def hook_at(port: int) -> Address:
    return Address(f"webhook+http://127.0.0.1:{port}/hook", allow_private=True)


def test_receiver_whose_headers_drip_in_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.3)
    with slow_receiver(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x") as port:
        began = monotonic()
        with pytest.raises(NotSent, match=r"did not answer within 0\.3 seconds") as refused:
            send(hook_at(port))
    assert monotonic() - began < 3
    assert not refused.value.permanent


def test_text_of_an_answer_that_drips_in_counts_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.3)
    with slow_receiver(b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\nthanks", b"x") as port:
        began = monotonic()
        assert send(hook_at(port)).startswith("200 OK: thanks")
    assert monotonic() - began < 3


def test_redirect_of_a_webhook_is_not_followed(hook: Receiver) -> None:
    hook.status, hook.headers = 302, {"Location": "http://169.254.169.254/"}
    with pytest.raises(NotSent, match="not followed"):
        send(Address(hook.url, allow_private=True))
    assert len(hook.requests) == 1


def test_private_address_is_refused_before_anything_is_sent(hook: Receiver) -> None:
    with pytest.raises(NotSent, match="ALLOW_PRIVATE_WEBHOOKS=true") as refused:
        send(Address(hook.url))
    assert refused.value.permanent
    assert hook.requests == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.9.9",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00::1",
        "::ffff:10.0.0.1",
        "::",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "192.88.99.1",
        "fec0::1",
        "::127.0.0.1",
        "64:ff9b:1::7f00:1",
    ],
)
def test_these_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_these_addresses_are_public(address: str) -> None:
    assert is_public(address)


def answering(*ips: str) -> Any:
    """A name server that gives these addresses for every name."""

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ips]

    return getaddrinfo


def test_name_with_one_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answering("8.8.8.8", "10.0.0.1"))
    with pytest.raises(NotSent, match=r"evil\.example leads to 10\.0\.0\.1"):
        addresses.checked_address("evil.example", 443, allow_private=False)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that were resolved, each to this machine."""
    hosts: list[str] = []

    def resolve(host: str, port: int, *_: Any, **__: Any) -> Any:
        hosts.append(host)
        return answering("127.0.0.1")(host, port)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return hosts


def test_connection_goes_to_the_checked_address(names: list[str], hook: Receiver) -> None:
    """A name server that answers differently the second time gains nothing: it is asked once."""
    send(Address(f"webhook+http://rebinding.example:{hook.port}/hook", allow_private=True))
    assert names == ["rebinding.example"]
    assert hook.requests[0][0]["Host"] == f"rebinding.example:{hook.port}"


def test_unresolvable_name_is_not_a_permanent_refusal() -> None:
    with pytest.raises(NotSent, match="could not be resolved") as refused:
        addresses.checked_address("nowhere.invalid", 443, allow_private=False)
    assert not refused.value.permanent


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://x", "names a host"),
        ("https:///hook", "names a host"),
        ("https://example.org:0/hook", "names a host"),
        ("https://example.org:99999/hook", "names a host"),
        ("https://example.org/a\nb", "non-printable"),
        ("https://ex\x7fample.org/hook", "non-printable"),
        ("https://bü cher.example/hook", "IDNA"),
        ("https://[::1/hook", "Invalid"),
    ],
)
def test_malformed_address_is_refused_before_anything_is_sent(url: str, reason: str) -> None:
    to = Address(f"webhook+{url}", allow_private=True)
    with pytest.raises(NotSent, match=reason) as refused:
        channels.check(to)
    assert refused.value.permanent


def test_host_outside_of_ascii_is_asked_by_its_encoded_name(
    names: list[str], hook: Receiver
) -> None:
    send(Address(f"webhook+http://bücher.example:{hook.port}/hook", allow_private=True))
    assert names == ["xn--bcher-kva.example"]
    assert hook.requests[0][0]["Host"] == f"xn--bcher-kva.example:{hook.port}"
