"""Pages that hold still while they load, on a desk and on a phone, and that need no scripts."""

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pytest_django.live_server_helper import LiveServer

from dashboard.models import AlertGroup, Job, Run
from tests.builders import pages
from tests.builders.chromium import DESK, PHONE, drawn
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MOST_SHIFT = 0.02  # of Chromium's cumulative layout shift, of which 0.1 counts as good
# What moved without an input just before it; and which elements
_WATCH_SHIFTS = """
    window.shift = 0;
    window.shifted = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
            if (entry.hadRecentInput) continue;
            window.shift += entry.value;
            window.shifted.push(...entry.sources.map(({ node }) => node?.className ?? "text"));
        }
    }).observe({ type: "layout-shift", buffered: true });
"""
_SETTLED_MS = 200
_ANGLES = """(labels) => labels.map((label) =>
    /rotate\\(([-\\d.]+)/.exec(label.getAttribute("transform"))?.[1] ?? "0")"""


@pytest.fixture(scope="module", autouse=True)
def busy_site(share: ShareData) -> None:
    def make() -> None:
        pages.history(series=200, points=30)
        pages.alerts()
        pages.fleet_at_work()
        pages.job_with_everything()

    share(make)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    opened = context.new_page()
    opened.add_init_script(_WATCH_SHIFTS)
    return opened


def group() -> AlertGroup:
    return AlertGroup.objects.latest("pk")


def measured_job() -> Job:
    return Job.objects.select_related("benchmark").get(result__isnull=False)


def addresses() -> list[str]:
    """One of every kind of page."""
    job = measured_job()
    lists = [
        "/",
        "/benchmarks/",
        "/alerts/",
        "/compare/",
        "/experiments/",
        "/runs/",
        "/fleet/",
        "/docs/",
        "/glossary/",
        "/search/?q=gpt2",
        "/api/v1/docs",
        "/nothing/",
    ]
    return [
        *lists,
        group().get_absolute_url(),
        f"/series/{job.benchmark}/",
        f"/series/{job.benchmark}/?axis=release",
        f"/runs/{Run.objects.latest('pk').pk}/",
        f"/jobs/{job.pk}/",
    ]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_nothing_moves_while_a_page_loads(page: Page, size: dict[str, int]) -> None:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    moving = []
    for address in addresses():
        page.goto(address)
        drawn(page).wait_for_timeout(_SETTLED_MS)
        if page.evaluate("window.shift") > MOST_SHIFT:
            moving.append((address, *page.evaluate("[window.shift, window.shifted]")))
    assert moving == []


def test_paper_begins_with_what_the_page_says(page: Page) -> None:
    page.goto(group().get_absolute_url())
    page.emulate_media(media="print")
    section = page.locator("main section").first
    assert section.evaluate("part => getComputedStyle(part).breakInside") == "auto"
    assert section.evaluate("part => getComputedStyle(part).breakBefore") == "auto"


def test_head_of_a_phone_is_one_row(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto("/")
    assert page.locator("header.top").evaluate("head => head.offsetHeight") < 60
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("link", name="Fleet").click()
    expect(page).to_have_title("Fleet · Compilewatch")


def test_slash_opens_the_search_box_of_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto("/")
    expect(page.get_by_role("searchbox")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_be_hidden()


def test_names_of_builds_lie_flat_on_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"/series/{measured_job().benchmark}/?axis=release")
    labels = drawn(page).locator(".plot .xtick text")
    assert labels.count() > 0
    angles = labels.evaluate_all(_ANGLES)
    assert set(angles) == {"0"}


def test_table_stands_there_without_scripts(
    browser: Browser, context: BrowserContext, live_server: LiveServer, page: Page
) -> None:
    plain = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    plain.add_cookies(context.cookies())  # type: ignore[arg-type]  # read by one, written by the other
    opened = plain.new_page()
    opened.goto(f"{group().get_absolute_url()}trend/")
    expect(opened.locator(".plot ~ details table").first).to_be_visible()
    assert opened.locator(".plot").first.evaluate("plot => plot.offsetHeight") < 100
    plain.close()
