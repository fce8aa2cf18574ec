"""Badges of cases and of alerts, for other people's pages."""

from xml.etree import ElementTree

import pytest
from django.test import Client

from dashboard.ui.badges import badge
from dashboard.ui.pages.feed_keys import key_of
from tests.builders import alerting, site
from tests.builders.people import viewer

pytestmark = pytest.mark.django_db
BADGE = f"/badge/{site.MLP}/inductor.svg"


@pytest.fixture(autouse=True)
def measured() -> None:
    alerting.measure({"latency_ms": 2.0, "speedup": 1.32}, 0)


def words(client: Client, address: str) -> str:
    """Return what a badge says to a screen reader."""
    answer = client.get(address)
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    return ElementTree.fromstring(answer.content.decode()).attrib["aria-label"]


def test_badge_shows_the_newest_speedup(reader: Client) -> None:
    assert words(reader, BADGE) == "mlp inductor speedup: 1.32× on 2.13.0"


def test_badge_shows_another_metric_under_another_label(reader: Client) -> None:
    address = BADGE + "?metric=latency_ms&label=our+step"
    assert words(reader, address) == "our step: 2.00 ms on 2.13.0"


def test_badge_shows_how_a_case_fails(reader: Client) -> None:
    alerting.measure(None, 1)
    assert words(reader, BADGE + "?metric=latency_ms") == "mlp inductor latency: timeout on 2.13.0"


def test_badge_says_not_measured(reader: Client) -> None:
    never_measured = f"/badge/{site.GPT2}/inductor.svg"
    assert words(reader, never_measured) == "gpt2 inductor speedup: not measured"
    assert words(reader, BADGE + "?machine=other").endswith("not measured")


def test_alerts_badge_counts_open_alerts(reader: Client) -> None:
    assert words(reader, "/badge/alerts.svg") == "torch.compile alerts: none open"
    alerting.group()
    assert words(reader, "/badge/alerts.svg") == "torch.compile alerts: 1 open"


def test_badge_escapes_markup_in_its_words() -> None:
    drawn = ElementTree.fromstring(badge('<b>"x"', "1 & 2", "good"))
    assert drawn.attrib["aria-label"] == '<b>"x": 1 & 2'
    assert [child.tag.rpartition("}")[2] for child in drawn] == ["title", "rect", "rect", "g"]


def test_unchanged_badge_is_not_sent_again(reader: Client) -> None:
    first = reader.get(BADGE)
    assert first.headers["Cache-Control"] == "max-age=300"
    assert reader.get(BADGE, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304


@pytest.mark.parametrize("address", [BADGE, "/badge/alerts.svg"])
def test_closed_site_needs_a_persons_key(client: Client, address: str) -> None:
    assert client.get(address).status_code == 403
    assert client.get(f"{address}?key=1.wrong").status_code == 403
    key = key_of(viewer("ada"))
    assert client.get(f"{address}?key={key}").status_code == 200
