"""What other people's pages show of this site: badges, charts in frames, links that unfold."""

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.ui.badges import badge
from dashboard.ui.pages.feed_keys import key_of
from tests.builders import alerting, site
from tests.builders.people import viewer
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
BADGE = f"/badge/{site.MLP}/inductor.svg"
SERIES = f"/series/{site.MLP}/"
EMBED = f"/embed{SERIES}"


@pytest.fixture(autouse=True)
def measured() -> None:
    alerting.measure({"latency_ms": 2.0, "speedup": 1.32}, 0)


def words(client: Client, address: str) -> str:
    """What a badge says to a screen reader."""
    answer = client.get(address)
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    return ElementTree.fromstring(answer.content.decode()).attrib["aria-label"]


def figure(client: Client, address: str) -> Any:
    """What the page at `address` has its first chart drawn from."""
    source = re.search('data-figure="([^"]+)"', client.get(address).text)
    assert source
    return client.get(unescape(source[1])).json()


# --- Badges
def test_badge_shows_the_newest_speedup(reader: Client) -> None:
    assert words(reader, BADGE) == "mlp inductor speedup: 1.32× on 2.13.0"


def test_badge_shows_another_metric_under_another_label(reader: Client) -> None:
    assert (
        words(reader, BADGE + "?metric=latency_ms&label=our+step") == "our step: 2.00 ms on 2.13.0"
    )


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


# --- Frames
def test_only_the_embedded_chart_may_be_framed(reader: Client) -> None:
    framed, page = reader.get(EMBED), reader.get(f"/series/{site.MLP}/")
    assert "frame-ancestors *" in framed.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in framed.headers
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Frame-Options"] == "DENY"


def test_embedded_chart_keeps_its_choice_and_links_to_the_page(reader: Client) -> None:
    page = page_text(reader.get(EMBED + "?metric=latency_ms&theme=dark"))
    assert 'data-theme="dark"' in page
    assert f'href="/series/{site.MLP}/?metric=latency_ms"' in page
    assert f'data-figure="{EMBED}data.json?metric=latency_ms&amp;axis=time"' in page


def test_embedded_figure_is_that_of_the_page(reader: Client) -> None:
    query = "?metric=latency_ms"
    embedded = reader.get(f"{EMBED}data.json{query}").json()
    assert embedded == reader.get(f"/series/{site.MLP}/data.json{query}").json()


@pytest.mark.parametrize("query", ["", "axis=time", "axis=release", "axis=other"])
@pytest.mark.parametrize("is_in_turn", [False, True])
def test_embedded_chart_has_the_axis_of_the_page(
    reader: Client, query: str, is_in_turn: bool
) -> None:
    builds = ("2.12.0", "2.13.0", "2.12.0") if is_in_turn else ("2.12.0", "2.13.0")
    for hour, build in enumerate(builds):
        alerting.measure(
            {"latency_ms": 2.0}, hour, build=build, config="regional", purpose="manual"
        )
    query = f"?config=regional&{query}"
    embedded, page = (figure(reader, address + query) for address in (EMBED, SERIES))
    assert embedded["layout"]["xaxis"] == page["layout"]["xaxis"]
    by_release = "axis=release" in query or (is_in_turn and "axis=time" not in query)
    assert (embedded["layout"]["xaxis"]["type"] == "category") == by_release


def test_embedded_chart_by_release_names_no_time_zone(reader: Client) -> None:
    assert "Times:" in page_text(reader.get(EMBED))
    assert "Times:" not in page_text(reader.get(f"{EMBED}?axis=release"))


@pytest.mark.parametrize("address", [BADGE, EMBED, EMBED + "data.json", "/badge/alerts.svg"])
def test_closed_site_needs_a_persons_key(
    client: Client, django_user_model: type[User], address: str
) -> None:
    assert client.get(address).status_code == 403
    assert client.get(f"{address}?key=1.wrong").status_code == 403
    key = key_of(viewer("ada"))
    assert client.get(f"{address}?key={key}").status_code == 200


# --- Links
def test_link_to_a_series_unfolds_as_its_chart(reader: Client, settings: Any) -> None:
    url = f"http://testserver/series/{site.MLP}/?metric=latency_ms"
    answer = reader.get("/oembed", {"url": url, "maxwidth": "400"}).json()
    assert answer["type"] == "rich"
    assert answer["version"] == "1.0"
    assert answer["width"] == 400
    assert f'src="{settings.SITE_URL}{EMBED}?metric=latency_ms&amp;key=' in answer["html"]


@pytest.mark.parametrize("url", ["", "/runs/", "http://[", "https://elsewhere.example.org/x"])
def test_other_links_do_not_unfold(reader: Client, url: str) -> None:
    assert reader.get("/oembed", {"url": url}).status_code == 404


def test_series_page_names_its_oembed_address(reader: Client) -> None:
    page = page_text(reader.get(f"/series/{site.MLP}/?metric=latency_ms"))
    assert 'type="application/json+oembed" href="/oembed?url=http%3A//testserver/series/' in page
