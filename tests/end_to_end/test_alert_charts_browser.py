"""The chart of an alert in a real browser, in several zones."""

from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import BrowserContext, Page

from dashboard.models import AlertGroup
from tests.builders import alerting
from tests.builders.chromium import drawn, wait_until_true
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.charts, pytest.mark.django_db(transaction=True)]
# The first moment of an alert's points, what hovering shows, and whether all of them are in sight
POINTS = """plot => {
    const { xaxis } = plot._fullLayout;
    const { x, hovertemplate } = plot.data.find(({ mode }) => mode === "lines+markers");
    const places = x.map((at) => xaxis.d2p(at));
    return [x[0], hovertemplate, Math.min(...places) >= 0 && Math.max(...places) <= xaxis._length];
}"""


@pytest.fixture(scope="module", autouse=True)
def alert(share: ShareData) -> None:
    share(alerting.stepped)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """The trend of its change."""
    page = context.new_page()
    page.goto(f"{AlertGroup.objects.get().get_absolute_url()}trend/")
    return page


def test_alert_draws_all_its_points_in_the_zone_that_it_names(page: Page, zone: str) -> None:
    plot = drawn(page).locator(".plot").first
    at = alerting.FIRST.astimezone(ZoneInfo(zone))
    named = page.locator("main .note [data-zone]").first.text_content() or ""
    first, template, is_whole = plot.evaluate(POINTS)
    assert first.startswith(f"{at:%Y-%m-%d %H:%M}")
    assert f" {named}<" in template
    assert is_whole


def test_values_fit_what_is_zoomed_where_nothing_is_asked_for_again(page: Page) -> None:
    plot = drawn(page).locator(".plot").first
    shown = "plot => plot._fullLayout.yaxis.range"
    whole = plot.evaluate(shown)
    values = plot.evaluate(
        """plot => {
            const { x, y } = plot.data.find(({ mode }) => mode === "lines+markers");
            Plotly.relayout(plot, { "xaxis.range[0]": x[2], "xaxis.range[1]": x[5] });
            return y.slice(2, 6).filter(Number.isFinite);
        }"""
    )
    wait_until_true(page, f"({shown})(document.querySelector('.plot')).join() !== '{whole}'")
    low, high = plot.evaluate(shown)
    assert whole[0] < low < min(values)
    assert max(values) < high < whole[1]
