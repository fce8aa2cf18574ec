"""Comparisons, versions and searches in a real browser: themes, phone, keyboard, and what changes
while one looks.
"""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dashboard.comparisons.services.comparisons import settle
from dashboard.models import Comparison
from tests.builders import releases
from tests.builders.chromium import PHONE, accessibility_violations, drawn, phone_problems
from tests.builders.committed_data import ShareData
from tests.builders.comparisons import (
    comparison_jobs,
    deliver_result,
    started_bisection,
    started_comparison,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"
HOME = "/?machine=h100"
TREND = "/series/gpt2.standard.training.bfloat16.static.b16/?machine=h100&axis=release"


@pytest.fixture(scope="module", autouse=True)
def two_releases(share: ShareData) -> None:
    share(releases.import_two_releases)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def comparison(page: Page) -> Comparison:
    """At work: the first repeat of one case is in."""
    found = started_comparison(repeats=3)
    for job in comparison_jobs(found)[:2]:
        deliver_result(job, 2.0 if job.run.build == found.base else 1.8)
    return found


@pytest.fixture
def addresses(comparison: Comparison) -> list[str]:
    search = started_bisection()
    pages = [each.get_absolute_url() for each in (comparison, search)]
    return [HOME, COMPARE, TREND, "/experiments/", *pages]


def test_axe_finds_no_fault_on_any_page(page: Page, addresses: list[str]) -> None:
    assert "".join(accessibility_violations(page, address) for address in addresses) == ""


def test_every_page_keeps_to_the_security_policy_and_fits_a_phone(
    page: Page, addresses: list[str]
) -> None:
    assert phone_problems(page, addresses) == []


def test_only_what_changed_is_in_the_address_and_back_undoes_it(page: Page) -> None:
    page.goto(COMPARE)
    cases = page.locator("#cases-section tbody tr")
    expect(cases).to_have_count(22)
    page.get_by_label("Show").select_option("changed")
    page.wait_for_url(re.compile("show=changed"))
    expect(cases).to_have_count(12)
    page.go_back()
    expect(cases).to_have_count(22)


def test_a_phone_shows_the_answer_and_folds_the_reasons(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto(COMPARE)
    cases = page.locator("#cases-section tbody tr").first
    why = page.locator("#why-sd_unet-inference")
    expect(page.locator(".answer")).to_be_in_viewport()
    expect(cases).to_be_hidden()
    why.get_by_text("Why").click()
    expect(why).to_contain_text("slower")
    page.locator("summary", has_text="22 cases").press("Enter")
    expect(cases).to_be_visible()
    page.get_by_label("Sort").select_option("name")
    page.wait_for_url(re.compile("sort=name"))
    expect(cases).to_be_visible()  # what was opened is not folded again


def test_star_marks_a_model_which_is_then_shown_alone(page: Page) -> None:
    page.goto(COMPARE)
    rows = page.locator(".verdicts tbody")
    everything = rows.count()
    page.get_by_role("button", name="Add gpt2 to your models").first.click()
    page.get_by_label("Only my models").check()
    page.wait_for_url(re.compile("starred=1"))
    expect(rows).not_to_have_count(everything)
    expect(rows.first).to_contain_text("gpt2")


def test_another_base_is_chosen_and_compared(page: Page) -> None:
    page.goto(COMPARE)
    page.get_by_label("Base").select_option(releases.NEW)
    page.wait_for_url(re.compile("base=2.13.0"))
    expect(page.locator("main")).to_contain_text("Both sides are the same")


def test_a_click_on_a_release_opens_its_newest_job(page: Page) -> None:
    page.goto(TREND)
    plot = drawn(page).locator(".plot")
    plot.scroll_into_view_if_needed()
    at = plot.evaluate(
        """plot => {
            const { xaxis, yaxis } = plot._fullLayout;
            const trace = plot.data.find(trace => trace.name === "inductor");
            return [
                xaxis._offset + xaxis.d2p(trace.x[1]),
                yaxis._offset + yaxis.d2p(trace.y[1]),
                trace.customdata[1],
            ];
        }"""
    )
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    page.mouse.click(box["x"] + at[0], box["y"] + at[1])
    page.wait_for_url(f"**/jobs/{at[2]}/")


def test_a_comparison_is_followed_until_its_report(page: Page, comparison: Comparison) -> None:
    page.goto(comparison.get_absolute_url())
    expect(page.locator("#live")).to_contain_text("2 of 12")
    for job in comparison_jobs(comparison)[2:]:
        deliver_result(job, 2.0 if job.run.build == comparison.base else 1.8)
    settle(comparison_id=comparison.pk)  # it is likely faster: measured again
    for job in comparison_jobs(comparison)[12:]:
        deliver_result(job, 2.0 if job.run.build == comparison.base else 1.8)
    answer = page.locator("#report .answer")
    expect(answer).to_contain_text("better, certain", timeout=15_000)
    expect(page.locator("#live")).not_to_have_attribute("hx-trigger", re.compile(".*"))
    expect(page.get_by_role("button", name="Measure more …")).to_be_visible()


def test_cell_of_the_map_leads_to_its_change(page: Page) -> None:
    page.goto(HOME)
    page.locator("table.map a.cell").first.click()
    page.wait_for_url(re.compile("/change/"))
    expect(page.locator("h1")).to_be_visible()
