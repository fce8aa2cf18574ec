"""A morning at the dashboard, with a made-up and a recorded history: light at a desk, dark on a
phone.

The rest of the day lies beside what it is about: from a red cell to the command in
test_trends_browser.py, triage in test_alerts_browser.py, a run from the admin until its end in
test_main_job.py.
"""

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dashboard.alerts.selectors.alerts import OPEN
from dashboard.models import AlertGroup
from dashboard.results.services.import_files import sources_in
from dashboard.results.services.imports import import_results
from tests.builders import pages
from tests.builders.chromium import DESK, PHONE, drawn
from tests.builders.committed_data import ShareData
from tests.builders.made_history import KEY

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
RELEASES = Path(__file__).parents[1] / "data" / "releases_h100"
RECORDED = [RELEASES / f"{name}.jsonl.gz" for name in ("two_releases", "third", "fourth")]


@pytest.fixture(scope="module", autouse=True)
def both_histories(share: ShareData) -> None:
    """A generated one with a fleet at work, and a recorded one."""

    def make() -> None:
        pages.history_with_alerts()
        pages.fleet_at_work()
        for recording in RECORDED:
            assert not import_results(sources=sources_in(recording), machine="h100").refused

    share(make)


@pytest.fixture(params=[("light", DESK), ("dark", PHONE)], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, context: BrowserContext) -> Page:
    theme, size = request.param
    opened = context.new_page()
    opened.emulate_media(color_scheme=theme)
    opened.set_viewport_size(size)
    return opened


def test_ten_seconds_tell_what_changed_and_whether_to_care(page: Page) -> None:
    page.goto(f"/?machine={KEY}&track={KEY}")
    needs = page.get_by_role("region", name="Needs you")
    silent = needs.get_by_text("No sign of life")  # a worker that fell silent
    for seen in (needs.get_by_role("heading"), silent):
        expect(seen).to_be_in_viewport()
    needs.locator("article a").first.click()
    page.wait_for_url(re.compile(r"/alerts/\d+/$"))
    pk = int(page.url.rstrip("/").rpartition("/")[2])
    assert AlertGroup.objects.filter(OPEN, pk=pk).exists()
    expect(page.locator("h1")).to_be_visible()


def test_two_recorded_releases_are_compared_down_to_the_command_of_one_job(page: Page) -> None:
    page.goto("/?machine=h100")
    page.get_by_role("link", name="Model by model").click()
    expect(page.locator("h1")).to_have_text(re.compile(r"2\.11\.0\+cu130\s+to\s+2\.13\.0\+cu130\?"))
    # In training 52 to 76 ms, of few processes that took turns: not enough to be certain
    expect(page.locator("#cases-section")).to_contain_text("0 of")
    expect(page.get_by_label("The answer")).to_contain_text("need more runs")
    if page.viewport_size == PHONE:  # there the cases are folded
        expect(page.get_by_label("Metric")).to_be_hidden()
        page.locator("#cases-section summary").first.press("Enter")
    page.get_by_label("Metric").select_option("cold_start_s")
    page.wait_for_url(re.compile("metric=cold_start_s"))
    page.locator("#cases-section tbody [data-label=new] a").first.click()
    drawn(page)
    expect(page.locator("#command")).to_contain_text("python -m benchmarks_suite run --benchmark")
