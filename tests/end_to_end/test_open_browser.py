"""The API's page and an embedded chart in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from dashboard.ui.pages.feed_keys import key_of
from tests.builders import alerting, site
from tests.builders.chromium import accessibility_violations, drawn, phone_problems
from tests.builders.http_servers import Quiet, serving

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
API, EMBED = "/api/v1/docs", f"/embed/series/{site.MLP}/?metric=latency_ms"


@pytest.fixture
def page(context: BrowserContext) -> Page:
    for hour in range(5):
        alerting.measure({"latency_ms": 2.0 + hour / 10}, hour)
    return context.new_page()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_fault(page: Page, theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    assert "".join(accessibility_violations(page, address) for address in (API, EMBED)) == ""


def test_the_security_policy_holds_and_a_phone_is_wide_enough(page: Page) -> None:
    assert phone_problems(page, [API, EMBED]) == []


def test_a_call_is_tried_with_the_rights_of_who_is_signed_in(page: Page) -> None:
    page.goto(API)
    machines = drawn(page).locator(".opblock", has_text="/api/v1/machines").first
    machines.locator(".opblock-summary-control").click()
    machines.get_by_role("button", name="Try it out").click()
    machines.get_by_role("button", name="Execute").click()
    expect(machines.locator(".live-responses-table")).to_contain_text("cpu-2c")


@pytest.fixture
def elsewhere(live_server: LiveServer, page: Page) -> Iterator[str]:
    """The address of another site, whose one page frames a chart and the whole page of a series."""
    key = key_of(User.objects.get(username="operator"))  # a frame elsewhere is sent no cookie
    paths = (f"{EMBED}&key={key}", f"/series/{site.MLP}/")
    body = "".join(f'<iframe src="{live_server.url}{path}"></iframe>' for path in paths).encode()

    class Answer(Quiet):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

    with serving(Answer) as port:
        yield f"http://127.0.0.1:{port}/"


def test_a_page_of_another_site_shows_the_chart_and_no_other_page(
    page: Page, elsewhere: str
) -> None:
    page.goto(elsewhere)
    chart, whole = (page.frame_locator(f"iframe >> nth={number}") for number in (0, 1))
    expect(chart.locator(".main-svg").first).to_be_visible(timeout=20_000)
    expect(whole.locator("main#content")).to_have_count(0)
