"""Charts in a real browser, in three zones: their times, and zooming."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from dashboard.models import Annotation, Datum, Job
from tests.builders import pages
from tests.builders.chromium import drawn, wait_until_true
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.charts, pytest.mark.django_db(transaction=True)]
RANGES = "[...document.querySelectorAll('.plot')].map(plot => plot._fullLayout.xaxis.range)"
ALONE = """Promise.all([...document.querySelectorAll(".plot")].map(async (plot) => {
    plot.isFollowing = true; // no wish of the viewer
    await Plotly.relayout(plot, { "xaxis.autorange": true });
    return plot._fullLayout.xaxis.range;
}))"""
# Where the points of a line lie, across, as shares of its plot's width
PLACES = """plot => {
    const { xaxis } = plot._fullLayout;
    const trace = plot.data.find(({ meta }) => meta.role === "line");
    return trace.x.map((at) => xaxis.d2p(at) / xaxis._length);
}"""
FIRST_POINT = """plot => {
    plot.scrollIntoView({ block: "center" });
    const { xaxis, yaxis } = plot._fullLayout;
    const { x, y } = plot.data.find(({ meta }) => meta.role === "line");
    const at = y.findIndex(Number.isFinite), box = plot.getBoundingClientRect();
    const place = [xaxis._offset + xaxis.d2p(x[at]), yaxis._offset + yaxis.d2p(y[at])];
    return [box.x + place[0], box.y + place[1]];
}"""


@pytest.fixture(scope="module", autouse=True)
def small_site(share: ShareData) -> None:
    share(pages.small_site)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def benchmark() -> Any:
    return Job.objects.select_related("benchmark").get(result__isnull=False).benchmark


def times() -> list[datetime]:
    """List when the cases of the benchmark were measured in eager, in time order."""
    data = Datum.objects.filter(
        series__benchmark=benchmark(), series__config__name="eager", series__metric="latency_ms"
    )
    return sorted(set(data.values_list("planned_at", flat=True)))


def plots(page: Page, query: str) -> Locator:
    page.goto(f"/series/{benchmark()}/{query}")
    return drawn(page).locator(".plot")


def hovered(page: Page, plot: Locator) -> str:
    page.mouse.move(0, 0)
    page.mouse.move(*plot.evaluate(FIRST_POINT))
    text = plot.locator(".hovertext")
    expect(text).to_be_visible()
    return text.text_content() or ""


def test_hover_is_in_the_zone_that_the_page_names(page: Page, zone: str) -> None:
    plot = plots(page, "?config=eager").first
    at = times()[0].astimezone(ZoneInfo(zone))
    named = page.locator("figcaption [data-zone]").text_content() or ""
    assert ZoneInfo(named).utcoffset(at) == at.utcoffset()  # Chromium says Asia/Calcutta
    assert f"{at.day} {at:%b %Y, %H:%M} {named}" in hovered(page, plot)


def test_the_axis_is_in_the_same_zone(page: Page, zone: str) -> None:
    plot = plots(page, "?config=eager").first
    at = times()[0].astimezone(ZoneInfo(zone))
    assert plot.evaluate("plot => plot.data[0].x[0]").startswith(f"{at:%Y-%m-%d %H:%M:%S}")


def test_the_zone_is_switched_to_utc_and_that_is_remembered(page: Page, zone: str) -> None:
    plot = plots(page, "?config=eager").first
    switch = page.get_by_role("button", name="Show UTC")
    if zone == "UTC":
        expect(switch).to_have_count(0)
        return
    switch.click()
    expect(page.get_by_role("button", name="Show my time")).to_be_visible()
    page.reload()
    expect(drawn(page).locator("figcaption [data-zone]")).to_have_text("UTC")
    assert f"{times()[0].astimezone(UTC):%H:%M} UTC" in hovered(page, plot)


def test_the_shared_axis_holds_what_each_chart_would_show_alone(page: Page) -> None:
    plots(page, "?config=eager&config=inductor&layout=multiples")
    wait_until_true(page, f"new Set({RANGES}.map(String)).size === 1")
    shared = page.evaluate(RANGES)[0]
    alone = page.evaluate(ALONE)
    assert shared == [min(start for start, _ in alone), max(end for _, end in alone)]


def drag(page: Page, plot: Locator, start: float, end: float) -> None:
    """Over the shares of the plot's width from ``start`` to ``end``."""
    plot.evaluate("plot => plot.scrollIntoView({ block: 'center' })")
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + start * box["width"], box["y"] + 0.9 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + 0.9 * box["height"], steps=5)
    page.mouse.up()


def test_a_zoom_reaches_address_table_and_second_chart(page: Page) -> None:
    remark = Annotation.objects.create(benchmark=benchmark(), at=times()[0], text="outside")
    charts = plots(page, "?config=eager&config=inductor&layout=multiples")
    wait_until_true(page, f"new Set({RANGES}.map(String)).size === 1")
    places = charts.first.evaluate(PLACES)
    drag(page, charts.first, (places[3] + places[4]) / 2, (places[8] + places[9]) / 2)
    page.wait_for_url(re.compile("from=.*to="))
    drawn(page)

    query = parse_qs(urlsplit(page.url).query)
    start, end = (datetime.fromisoformat(f"{query[name][0]}+00:00") for name in ("from", "to"))
    seen = times()[4:9]
    assert [at for at in times() if start <= at < end] == seen
    assert remark.at < start
    rows = page.locator("section[aria-labelledby=numbers] tbody tr")
    expect(rows.filter(has_text="eager")).to_have_count(len(seen))
    wait_until_true(page, f"new Set({RANGES}.map(String)).size === 1")


def test_two_metrics_share_axis_edge_zoom_and_the_hovered_point(page: Page) -> None:
    charts = plots(page, "?config=inductor&metric=latency_ms&second=cold_start_s")
    wait_until_true(page, f"new Set({RANGES}.map(String)).size === 1")
    edges = "[...document.querySelectorAll('.plot')].map(plot => plot._fullLayout._size.l)"
    wait_until_true(page, f"new Set({edges}).size === 1")

    above = hovered(page, charts.first)
    below = charts.nth(1).locator(".hovertext")
    expect(below).to_contain_text("inductor")
    moment = re.compile(r"\d+ \w{3} \d{4} \d\d:\d\d")
    assert moment.findall(below.text_content() or "") == moment.findall(above)
    page.mouse.move(0, 0)
    expect(below).to_have_count(0)

    drag(page, charts.first, 0.2, 0.6)
    page.wait_for_url(re.compile("from=.*to="))
    assert "second=cold_start_s" in page.url
    drawn(page)
    wait_until_true(page, f"new Set({RANGES}.map(String)).size === 1")
