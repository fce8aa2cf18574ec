"""Messages and transports: real mail, to a server on this machine."""

import io
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from PIL import Image

from dashboard.alerts.core.alert_charts import Step
from dashboard.notifications.transports import channels, compose, picture, webhook
from dashboard.notifications.transports.message import Address, NotSent
from tests.builders.messages import AT, CHANGED, ENTRY, png, send
from tests.builders.read_data import line
from tests.builders.receivers import Mailbox, Receiver, receiver

SCHEMA = json.loads(Path(webhook.__file__).with_name("webhook.v1.json").read_text())


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


# --- Messages
def test_subject_of_a_confirmed_alert_begins_with_its_severity() -> None:
    assert ENTRY.subject == "[high] sd_unet inference: 6.2% slower in inductor since 2.14"


def test_subject_of_another_alert_begins_with_its_state() -> None:
    assert replace(ENTRY, state="not_reproduced").subject.startswith("Not reproduced: sd_unet")


def test_improvement_is_announced_as_one_and_has_no_severity() -> None:
    better = replace(ENTRY, direction="improvement", assignee="ada")
    message = compose.event_message(better, AT, None)
    assert message.subject == f"Improvement, confirmed: {ENTRY.title}"
    assert "Confirmed, improvement, on h200, nightly." in message.text
    assert "Assigned to ada, for information." in message.text
    assert "severity" not in message.text + message.html


def test_text_and_html_contain_change_builds_cause_and_command() -> None:
    message = compose.event_message(ENTRY, AT, None)
    command = "python -m benchmarks_suite run"
    for part in (CHANGED.text, "2.13 → 2.14", "Compiler.", command, ENTRY.url):
        assert part in message.text
        assert part in message.html


def test_html_is_escaped_and_text_is_not() -> None:
    message = compose.event_message(ENTRY, AT, None)
    assert "The kernels &lt;differ&gt;." in message.html
    assert "The kernels <differ>." in message.text


@pytest.mark.parametrize(
    "message",
    [
        compose.event_message(ENTRY, AT, None),
        compose.digest_message(
            "Weekly", [ENTRY, replace(ENTRY, machine=None)], [], (AT, AT), "https://x.example"
        ),
        compose.test_message("ops", AT, "https://watch.example/"),
    ],
    ids=["event", "digest", "test"],
)
def test_webhook_document_fits_its_schema(message: Any) -> None:
    document = {**message.document, "delivery": "1"}
    checker = jsonschema.FormatChecker()
    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=checker)
    assert list(validator.iter_errors(document)) == []


def test_long_group_is_cut_in_the_mail_and_whole_in_the_document() -> None:
    message = compose.event_message(replace(ENTRY, series=[CHANGED] * 12), AT, None)
    assert "and 4 more series" in message.text
    assert len(message.document["alerts"][0]["series"]) == 12


# --- The picture
def test_picture_shows_both_levels() -> None:
    image = Image.open(io.BytesIO(png()))
    colours = {colour for _, colour in image.convert("RGB").getcolors(1 << 20) or []}
    assert image.size == (picture.WIDTH, picture.HEIGHT)
    assert {(0x2B, 0x2E, 0xB7), (0xE0, 0x70, 0x1A)} <= colours


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 9, [float("nan")] * 4, [0.0, 0.0, 3.0]])
def test_picture_of_few_or_equal_points_is_drawn(values: list[float]) -> None:
    points = line(values or [1.0])
    step = Step(int(points.at_ms[-1]), 6.0, None, None, "percent")
    assert picture.change_png(points, step, "x", "ms")


def test_ticks_are_round_numbers_within_the_range() -> None:
    assert picture.ticks(17.1, 18.9) == pytest.approx([17.5, 18.0, 18.5])


def test_levels_are_in_the_units_of_the_metric() -> None:
    points = line([10.0] * 9 + [12.0] * 3)
    levels = picture.levels_of(points, Step(int(points.at_ms[9]), 20.0, 18.0, 22.0, "percent"))
    assert levels
    assert levels.before == pytest.approx(10)
    assert levels.after == pytest.approx(12)


# --- Mail
def test_mail_has_text_html_and_inline_chart(inbox: Mailbox) -> None:
    assert "took it" in send(Address(inbox.url, allow_private=True), png())
    (text,) = inbox.parts("text/plain")
    (html,) = inbox.parts("text/html")
    (image,) = inbox.parts("image/png")
    assert "6.2% slower (5.1 to 7.4%)" in text.get_content()
    assert "cid:change.png" in html.get_content()
    assert image["Content-ID"] == "<change.png>"
    assert image.get_content_disposition() == "inline"
    assert inbox.mails[0]["Subject"] == ENTRY.subject


def test_text_part_of_a_mail_contains_the_page_and_the_command(inbox: Mailbox) -> None:
    send(Address(inbox.url, allow_private=True))
    text = inbox.parts("text/plain")[0].get_content()
    assert ENTRY.url in text
    assert "python -m benchmarks_suite run" in text


def test_refused_mail_reports_the_servers_words(inbox: Mailbox) -> None:
    inbox.refusal = "550 no such person here"
    with pytest.raises(NotSent, match="no such person here") as refused:
        send(Address(inbox.url, allow_private=True))
    assert not refused.value.permanent


def test_mail_server_that_is_down_is_not_a_permanent_refusal(inbox: Mailbox) -> None:
    with pytest.raises(NotSent, match=r".+") as refused:
        send(
            Address("mailto://127.0.0.1:9?from=a@example.org&to=b@example.org", allow_private=True)
        )
    assert not refused.value.permanent


def test_unknown_scheme_is_refused_permanently() -> None:
    with pytest.raises(NotSent, match="does not understand this carrier") as refused:
        send(Address("carrier://pigeon"))
    assert refused.value.permanent


@pytest.mark.parametrize("scheme", ["json", "jsons", "xml", "form"])
def test_unsigned_webhooks_are_refused(scheme: str) -> None:
    with pytest.raises(NotSent, match="choose Webhook"):
        send(Address(f"{scheme}://10.0.0.1/x"))


@pytest.mark.parametrize(
    "address",
    [
        "mmost://{}/0123456789abcdefghijklmnop",
        "rocket://user:password@{}/#channel",
        "gotify://{}/0123456789abcde",
        "ntfy://{}/topic",
        "matrix://user:password@{}/#room",
        "apprise://{}/0123456789abcdef",
        "ncloud://user:password@{}/ada",
        "nctalk://user:password@{}/room",
        "hassio://{}/0123456789abcdef0123456789abcdef",
        "kodi://{}",
        "signal://{}/+15551234567/+15557654321",
        "workflows://{}/W/S/",
        "lametric://0123456789abcdef@{}",
        "synology://{}/0123456789",
        "bark://{}/0123456789abcdef",
        "enigma2://{}",
        "emby://user@{}",
        "jellyfin://user@{}",
        "pushdeer://{}/0123456789abcdef",
        "irc://{}/#channel",
        "mailto://{}?from=a@example.org&to=b@example.org",
    ],
)
def test_service_in_a_private_network_is_not_connected_to(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        with pytest.raises(NotSent, match="not a public address") as refused:
            send(Address(address.format(f"127.0.0.1:{listener.getsockname()[1]}")))
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert refused.value.permanent


def test_proxy_of_the_site_is_reached_in_a_private_network(
    hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{hook.port}")
    assert "took it" in send(Address("gotify://push.example.org/0123456789abcde"))
    assert hook.requests


def test_name_outside_of_a_channel_is_resolved_as_ever() -> None:
    assert socket.getaddrinfo("127.0.0.1", 80)


@pytest.mark.parametrize(
    "address",
    [
        "workflows://teams.example.org/W/S/?Template=/etc/passwd",
        "tgram://123456789:abcdefg_hijklmnop/12315544/?template=/etc/passwd",
        "fcm://project@key/token/?%6beyfile=/etc/passwd",
        "mailto://u:p@example.org?pgppub=/etc/passwd",
    ],
)
def test_option_that_reads_a_file_is_refused(address: str) -> None:
    with pytest.raises(NotSent, match="names a file") as refused:
        channels.check(Address(address, allow_private=True))
    assert refused.value.permanent


def test_this_machines_own_log_is_no_channel() -> None:
    with pytest.raises(NotSent, match="nowhere outside"):
        channels.check(Address("syslog://"))
