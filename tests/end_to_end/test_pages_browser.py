"""The pages in a real browser: charts, themes, keyboard, phone, and what changes while one
looks.
"""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dashboard.models import Job, JobState, Run, Status
from dashboard.runs.services.run_state import refresh_runs
from tests.builders import pages
from tests.builders.chromium import accessibility_violations, drawn, phone_problems
from tests.builders.committed_data import ShareData
from tests.builders.people import viewer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def run(share: ShareData) -> Run:
    """The run that is at work."""
    working: Run = share(pages.busy_site)
    return working


@pytest.fixture
def page(context: BrowserContext, run: Run) -> Page:
    return context.new_page()


def addresses(run: Run) -> list[str]:
    job = full_job()
    of_one = [
        f"/series/{job.benchmark}/",
        f"/runs/{run.pk}/",
        f"/jobs/{job.pk}/",
        f"/series/{job.benchmark}/?metric=drift",
    ]
    return [
        "/",
        "/benchmarks/",
        "/benchmarks/?configs=all",
        "/search/?q=in",
        "/runs/",
        "/fleet/",
        "/glossary/",
        *of_one,
    ]


def full_job() -> Job:
    return Job.objects.select_related("benchmark").get(result__isnull=False)


def series(page: Page, query: str = "") -> Page:
    page.goto(f"/series/{full_job().benchmark}/{query}")
    return drawn(page)


def switch_theme(page: Page) -> None:
    page.get_by_text("operator", exact=True).click()
    page.get_by_role("button", name="Switch to the dark theme").click()


def test_axe_finds_no_fault_on_any_page(page: Page, run: Run) -> None:
    assert "".join(accessibility_violations(page, address) for address in addresses(run)) == ""


def test_axe_finds_no_fault_on_the_pages_of_strangers(window: BrowserContext) -> None:
    page = window.new_page()
    addresses = ("/sign-in/", "/nothing/")
    assert "".join(accessibility_violations(page, address) for address in addresses) == ""


def test_every_page_keeps_to_the_security_policy_and_fits_a_phone(page: Page, run: Run) -> None:
    assert phone_problems(page, addresses(run)) == []


def test_a_chosen_theme_is_remembered(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/")
    switch_theme(page)
    page.goto("/runs/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 21)"


def test_a_chart_follows_the_theme(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    color = (
        "document.querySelector('.plot').data.find(trace => trace.meta.role === 'line').line.color"
    )
    before = series(page).evaluate(color)
    switch_theme(page)
    assert page.evaluate(color) != before


@pytest.mark.charts
def test_paper_is_light_and_tells_absolute_times(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    color = "document.querySelector('.plot')._fullLayout.font.color"
    before = series(page).evaluate(color)
    page.emulate_media(color_scheme="dark", media="print")
    expect(page.locator("time").first).to_have_text(re.compile(r"\d{4}"))
    assert page.evaluate(color) != before


def test_a_click_on_a_point_opens_its_job(page: Page) -> None:
    plot = series(page, "?config=eager").locator(".plot")
    at = plot.evaluate(
        """plot => {
            plot.scrollIntoView({ block: "center" });
            const { xaxis, yaxis } = plot._fullLayout;
            const trace = plot.data.find(trace => trace.meta.role === "line");
            return [
                xaxis._offset + xaxis.d2p(trace.x[4]),
                yaxis._offset + yaxis.d2p(trace.y[4]),
                trace.customdata[4],
            ];
        }"""
    )
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    page.mouse.click(box["x"] + at[0], box["y"] + at[1])
    page.wait_for_url(f"**/jobs/{at[2]}/")


def test_choosing_a_config_changes_chart_table_and_address_and_back_undoes_it(page: Page) -> None:
    series(page, "?config=eager")
    page.get_by_label("regional", exact=True).check()
    page.wait_for_url(re.compile("config=regional"))
    expect(page.get_by_role("row").filter(has_text="regional").first).to_be_visible()
    traces = (
        "document.querySelector('.plot').data.filter(t => t.meta.role === 'line').map(t => t.name)"
    )
    assert drawn(page).evaluate(traces) == ["eager", "regional"]
    assert page.evaluate("document.activeElement.id") == "filter-regional"
    page.go_back()
    expect(page.get_by_label("regional", exact=True)).not_to_be_checked()
    assert drawn(page).evaluate(traces) == ["eager"]


def test_a_filter_that_is_not_set_is_not_in_the_address(page: Page) -> None:
    page.goto("/benchmarks/")
    page.get_by_text("Filters", exact=True).click()
    page.get_by_label("Family").select_option("llm")
    page.wait_for_url(re.compile("family=llm"))
    assert "status=" not in page.url
    expect(page.get_by_label("Family")).to_have_value("llm")  # a filter that is set stays in sight


def test_a_chart_without_its_data_says_so(page: Page) -> None:
    page.route("**/data.json*", lambda route: route.abort())
    series(page)
    expect(page.get_by_role("alert")).to_contain_text("The numbers are in the table")


def test_a_word_explains_itself_to_the_keyboard(page: Page) -> None:
    page.goto("/")
    page.locator("a.term").first.focus()
    expect(page.get_by_role("tooltip")).to_contain_text("named stream of torch builds")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_have_count(0)


def test_the_first_tab_leads_past_the_navigation(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


@pytest.mark.charts
def test_times_are_told_in_the_viewers_zone(
    browser: Browser, context: BrowserContext, run: Run
) -> None:
    page = context.new_page()
    page.goto(f"/runs/{run.pk}/")
    expect(page.locator("time").first).to_have_text(re.compile("ago|now"))
    expect(page.locator("time").first).to_have_attribute("title", re.compile("UTC"))


def test_a_run_is_followed_until_it_ends(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/")
    expect(page.locator("#live")).to_contain_text("7 of 12")
    left = Job.objects.filter(run=run, state__in=[JobState.RUNNING, JobState.QUEUED])
    left.update(
        state=JobState.DONE,
        status=Status.PASS,
        claimed_at=timezone.now(),
        finished_at=timezone.now(),
    )
    refresh_runs(run_ids=[run.pk])
    expect(page.locator("#live")).to_contain_text("completed", timeout=10_000)
    expect(page.locator("#live")).not_to_have_attribute("hx-trigger", re.compile(".*"))


def test_an_operator_cancels_a_run_and_is_asked_before(page: Page, run: Run) -> None:
    page.goto(f"/runs/{run.pk}/")
    page.get_by_role("button", name="Cancel …").click()
    expect(page.get_by_role("button", name="Let it run")).to_be_focused()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_role("status")).to_contain_text("5 jobs will not be measured")


def test_the_command_that_repeats_a_job_is_copied(page: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/jobs/{full_job().pk}/")
    page.get_by_role("heading", name="Reproduce").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "python -m benchmarks_suite run" in page.evaluate("navigator.clipboard.readText()")


def test_people_sign_in_and_are_taken_back(window: BrowserContext) -> None:
    viewer("reader", password="rather-long-word")
    page = window.new_page()
    page.goto("/fleet/")
    page.get_by_label("Username").fill("reader")
    page.get_by_label("Password").fill("rather-long-word")
    page.keyboard.press("Enter")
    # The address of the form ends in ?next=/fleet/
    expect(page).to_have_url(re.compile(r"://[^/]+/fleet/$"))


# --- Search
# -------------------------------------------------------------------------------------------
def test_a_slash_leads_to_the_search_and_the_arrows_to_what_it_finds(page: Page) -> None:
    page.goto("/fleet/")
    page.keyboard.press("/")
    page.keyboard.type("gpt2")
    hit = page.get_by_role("link", name="gpt2 llm")
    expect(hit).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(hit).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("model=gpt2"))
    expect(page.get_by_label("Model")).to_have_value("gpt2")


def test_escape_leaves_the_search(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("gpt2")
    expect(page.locator("#hits a").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#hits a")).to_have_count(0)
    assert page.evaluate("document.activeElement === document.body")


def test_a_column_of_the_matrix_sorts_by_its_head(page: Page) -> None:
    page.goto("/benchmarks/?configs=all")
    page.get_by_role("link", name="regional", exact=True).click()
    page.wait_for_url(re.compile("sort=regional"))
    expect(page.get_by_role("columnheader", name="regional")).to_have_attribute(
        "aria-sort", "descending"
    )


def test_other_configs_of_a_benchmark_are_opened_and_closed_in_place(page: Page) -> None:
    page.goto("/benchmarks/")
    folded = page.locator(".opens").first
    folded.click()
    expect(page.locator(".opened")).to_have_count(1)
    page.wait_for_url(re.compile("open="))
    expect(page.locator(".opens:focus")).to_have_count(1)
    page.go_back()
    expect(page.locator(".opened")).to_have_count(0)


def test_heads_of_the_benchmarks_stay_while_the_page_scrolls(page: Page) -> None:
    page.set_viewport_size({"width": 1000, "height": 450})
    page.goto("/benchmarks/")
    assert page.evaluate("scrollTo(0, 400); scrollY") > 200
    head = page.get_by_role("columnheader", name="Model").bounding_box()
    assert head
    assert head["y"] == pytest.approx(0, abs=1)


def test_a_benchmark_is_in_sight_at_twice_the_size(page: Page) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    page.goto("/benchmarks/")
    name = page.locator(".lines .name").first.bounding_box()
    assert name
    assert name["y"] + name["height"] <= 450


def test_open_menus_and_hits_pass_axe(page: Page) -> None:
    page.goto("/benchmarks/")
    page.locator(".account .menu summary").click()
    expect(page.get_by_role("link", name="Your API tokens")).to_be_visible()
    assert accessibility_violations(page) == ""
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("in")
    expect(page.locator("#hits a").first).to_be_visible()
    assert accessibility_violations(page) == ""
