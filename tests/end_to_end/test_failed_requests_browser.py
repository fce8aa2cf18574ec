"""Display of a page when a choice has no data, and when its request fails."""

import numpy as np
import orjson
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dashboard.results.services.import_existing import ImportSource
from dashboard.results.services.imports import import_results
from tests.builders import releases
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


@pytest.fixture(scope="module", autouse=True)
def two_releases(share: ShareData) -> None:
    """Compared on one machine; another measured one of them."""
    share(import_releases)


def import_releases() -> None:
    releases.import_two_releases(models=["gpt2"], repeats=2)
    rng, same = np.random.default_rng(9), releases.Release("llm")
    alone = releases.document(rng, releases.BASE, "gpt2", "inference", "inductor", same, 0)
    import_results(sources=[ImportSource("1.json", orjson.dumps(alone))], machine="alone")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.goto(COMPARE)
    return page


def test_choice_without_data_keeps_its_selector_and_links_to_what_there_is(page: Page) -> None:
    page.get_by_label("Machine").first.select_option("alone")
    expect(page.get_by_role("heading", level=1)).to_have_text("No data for this choice")
    expect(page.get_by_label("Machine").first).to_have_value("alone")
    page.get_by_role("link", name="h100").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("2.13.0")


def test_request_that_fails_is_reported_undone_and_tried_again(page: Page) -> None:
    before = page.get_by_role("heading", level=1).inner_text()
    page.route("**/compare/?*machine=alone*", lambda route: route.abort())
    page.get_by_label("Machine").first.select_option("alone")
    box = page.get_by_role("alert").filter(has_text="could not be loaded: the site does not answer")
    expect(box).to_be_visible()
    expect(page.get_by_label("Machine").first).to_have_value("h100")
    assert page.get_by_role("heading", level=1).inner_text() == before

    page.unroute_all()
    box.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("No data for this choice")
    expect(box).to_be_hidden()


def test_choice_tried_again_while_the_site_is_down_comes_once_it_answers(page: Page) -> None:
    page.goto("/")
    uncaught: list[object] = []
    page.on("pageerror", lambda error: uncaught.append(error))  # noqa: PLW0108
    page.route("**/?*machine=alone*", lambda route: route.abort())
    page.locator("#filter-machine").select_option("alone")
    box = page.locator("#failed-request")
    again = box.get_by_role("button", name="Try again")
    with page.expect_event("requestfailed"):
        again.click()
    expect(box).to_be_visible()
    assert uncaught == []

    page.unroute_all()
    again.click()
    expect(box).to_be_hidden()
    expect(page.locator("#filter-machine")).to_have_value("alone")
