"""Trends and advice in a real browser: brushing, two points, remarks, and from a red cell to the
command.
"""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect
from pytest_django.live_server_helper import LiveServer

from dashboard.models import Annotation, Datum, Job
from tests.builders import pages
from tests.builders.chromium import (
    PHONE,
    accessibility_violations,
    drawn,
    phone_problems,
    wait_until_true,
)
from tests.builders.committed_data import ShareData
from tests.builders.made_history import KEY

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LINES = (
    "document.querySelector('.plot').data.filter(trace => trace.meta.role === 'line' && "
    "trace.name === 'eager')"
)

LABELS = """plot => {
    const edge = plot.getBoundingClientRect(), boxes = [...plot.querySelectorAll(".annotation")]
        .filter(label => getComputedStyle(label).visibility === "visible")
        .map(label => [label.textContent, label.querySelector("text").getBoundingClientRect()]);
    const over = (one, other) => one.left < other.right && other.left < one.right
        && one.top < other.bottom && other.top < one.bottom;
    return {
        texts: boxes.map(([text]) => text),
        outside: boxes
            .filter(([, box]) => box.left < edge.left || box.right > edge.right)
            .map(([text]) => text),
        overlaps: boxes.flatMap(([text, box], index) =>
            boxes.slice(index + 1)
                .filter(([, other]) => over(box, other))
                .map(([other]) => [text, other])),
    };
}"""


@pytest.fixture(scope="module", autouse=True)
def small_site(share: ShareData) -> None:
    share(pages.small_site)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def full_job() -> Job:
    return Job.objects.select_related("benchmark").get(result__isnull=False)


def trend(page: Page, query: str = "?config=eager") -> Page:
    page.goto(f"/series/{full_job().benchmark}/{query}")
    return drawn(page)


def on_page(plot: Locator, index: int) -> tuple[float, float]:
    """Locate the point ``index`` of the first line on the page, without those that failed: they
    have no value.
    """
    at = plot.evaluate(
        """(plot, index) => {
            plot.scrollIntoView({ block: "center" });
            const { xaxis, yaxis } = plot._fullLayout;
            const trace = plot.data.find(trace => trace.meta.role === "line");
            const shown = [...trace.y.keys()].filter(at => Number.isFinite(trace.y[at]));
            const at = shown[Math.min(index, shown.length - 1)];
            return [xaxis._offset + xaxis.d2p(trace.x[at]), yaxis._offset + yaxis.d2p(trace.y[at])];
        }""",
        index,
    )
    box = plot.bounding_box()
    assert box
    return box["x"] + at[0], box["y"] + at[1]


def addresses() -> list[str]:
    job = full_job()
    others = Job.objects.filter(benchmark=job.benchmark, config=job.config).order_by("planned_at")[
        :2
    ]
    pair = "&".join(f"job={other.pk}" for other in others)
    return [
        f"/series/{job.benchmark}/?config=eager&config=inductor&layout=multiples&scale=relative",
        f"/series/{job.benchmark}/?config=inductor&samples=1",
        f"/series/{job.benchmark}/?config=inductor&second=cold_start_s",
        f"/change/?{pair}",
        "/change/",
    ]


def test_axe_finds_no_fault(page: Page) -> None:
    assert "".join(accessibility_violations(page, address) for address in addresses()) == ""


def test_the_pages_keep_to_the_security_policy_and_fit_a_phone(page: Page) -> None:
    assert phone_problems(page, addresses()) == []


@pytest.mark.charts
def test_a_dragged_stretch_is_asked_for_again_and_back_undoes_it(page: Page) -> None:
    plot = trend(page).locator(".plot").first
    whole = page.evaluate(f"{LINES}[0].x.length")
    (left, y), (right, _) = on_page(plot, 2), on_page(plot, whole - 3)
    page.mouse.move(left - 4, y + 20)
    page.mouse.down()
    page.mouse.move(right + 4, y + 20, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("from=.*to="))
    expect(page.get_by_role("link", name="Whole history")).to_be_visible()
    assert drawn(page).evaluate(f"{LINES}[0].x.length") < whole
    page.go_back()
    expect(page.get_by_role("link", name="Whole history")).to_have_count(0)


def test_two_clicked_points_are_compared(page: Page) -> None:
    plot = trend(page).locator(".plot").first
    page.get_by_role("button", name="Compare two points").click()
    hovered, first_point = plot.locator(".hovertext").first, "none yet"
    for index in (0, 5):
        page.mouse.move(*on_page(plot, index))
        expect(hovered).to_be_visible()
        expect(hovered).not_to_have_text(first_point)  # a click is on what is hovered
        first_point = hovered.text_content() or ""
        page.mouse.click(*on_page(plot, index))
        if index == 0:
            expect(
                page.get_by_role("status").filter(has_text="Click the second point")
            ).to_be_visible()
    page.wait_for_url("**/change/?by=age&job=*")
    expect(page.get_by_role("heading", name="What they measured")).to_be_visible()


def test_two_ticked_rows_are_compared_without_a_mouse(page: Page) -> None:
    ticks = trend(page).get_by_role("checkbox", name=re.compile("^Choose eager"))
    for tick in (ticks.nth(0), ticks.nth(6)):
        tick.press("Space")
    page.get_by_role("button", name="Compare two ticked jobs").press("Enter")
    page.wait_for_url("**/change/?job=*&by=age")
    expect(page.get_by_role("link", name="Compare the builds")).to_be_visible()


@pytest.mark.charts
def test_charts_above_each_other_share_one_time_axis(page: Page) -> None:
    trend(page, "?config=eager&config=inductor&layout=multiples")
    ranges = (
        "[...document.querySelectorAll('.plot')].map(plot => plot._fullLayout.xaxis.range.join())"
    )
    wait_until_true(page, f"new Set({ranges}).size === 1")
    assert page.locator(".plot").count() == 3


@pytest.mark.charts
def test_a_remark_is_put_on_the_trend_by_who_is_signed_in(page: Page) -> None:
    trend(page)
    page.get_by_role("textbox", name="Remark").fill("new driver")
    page.get_by_label("On", exact=True).fill("2026-01-02")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("status").filter(has_text="The remark is on the trend")).to_be_visible()
    texts = "document.querySelector('.plot').layout.annotations.map(note => note.text)"
    assert any("new driver" in text for text in drawn(page).evaluate(texts))


@pytest.mark.parametrize("width", [1440, 820, 390, 320])
def test_labels_lie_within_the_chart_and_not_over_each_other(page: Page, width: int) -> None:
    page.set_viewport_size(ViewportSize(width=1000, height=800))
    benchmark = full_job().benchmark
    times = sorted(
        {datum.planned_at for datum in Datum.objects.filter(series__benchmark=benchmark)}
    )
    for number, at in enumerate(times):
        Annotation.objects.create(
            benchmark=benchmark,
            at=at,
            text=f"night {number}: a new driver",
        )
    plot = trend(page).locator(".plot").first
    # Drawn for another width than it was loaded with
    page.set_viewport_size(ViewportSize(width=width, height=800))
    whole = plot.evaluate("plot => Math.floor(plot.getBoundingClientRect().width)")
    expect(plot.locator(".main-svg").first).to_have_attribute(
        "width", re.compile(rf"{whole}(\.|$)")
    )
    told = plot.evaluate(LABELS)
    assert told["texts"][-1] == f"✎ night {len(times) - 1}: a new driver"
    assert told["outside"] == []
    assert told["overlaps"] == []


def test_a_phone_has_the_legend_below_the_dates_and_room_for_the_lines(page: Page) -> None:
    page.set_viewport_size(PHONE)
    plot = trend(
        page, "?config=eager&config=inductor&config=inductor_reduce_overhead&config=regional"
    ).locator(".plot")
    dates, lines, legend = (
        plot.locator(part).first.bounding_box() for part in (".xtick", ".nsewdrag", ".legend")
    )
    assert dates
    assert lines
    assert legend
    assert legend["y"] >= dates["y"] + dates["height"]
    assert lines["height"] >= 180


def test_a_phone_has_no_bar_of_buttons_over_the_chart(page: Page) -> None:
    page.set_viewport_size(PHONE)
    expect(trend(page).locator(".plot").first.locator(".modebar-btn")).to_have_count(0)


def test_no_button_sends_the_data_away(page: Page) -> None:
    buttons = (
        trend(page)
        .locator(".plot")
        .first.evaluate(
            "plot => [...plot.querySelectorAll('.modebar-btn')].map(({ dataset }) => dataset.title)"
        )
    )
    assert "Download plot as a PNG" in buttons
    assert not re.search("share|cloud|edit", " ".join(buttons), re.IGNORECASE)


def test_a_pressed_button_is_readable_under_the_pointer(page: Page) -> None:
    background = """async (button) => {
        await Promise.all(button.getAnimations().map(({ finished }) => finished));
        return getComputedStyle(button).backgroundColor;
    }"""
    button = trend(page).get_by_role("button", name="Compare two points")
    button.click()
    under_the_pointer = button.evaluate(background)
    page.mouse.move(0, 0)
    assert button.evaluate(background) == under_the_pointer


def test_without_scripts_a_chart_points_to_the_tables(
    browser: Browser, context: BrowserContext, live_server: LiveServer, page: Page
) -> None:
    plain = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    plain.add_cookies(context.cookies())  # type: ignore[arg-type]  # read by one, written by the other
    opened = plain.new_page()
    opened.goto(f"/series/{full_job().benchmark}/?config=eager")
    plot = opened.locator(".plot").first
    content = plot.evaluate("plot => getComputedStyle(plot, '::after').content")
    assert "The numbers are in the page's tables" in content
    plain.close()


def test_from_a_red_cell_to_the_command_that_repeats_it_in_three_clicks(page: Page) -> None:
    job = pages.fail_newest("fail_to_compile")
    page.goto(f"/benchmarks/?machine={KEY}&track={KEY}")
    page.locator("td a.failed", has_text="fail_to_compile").first.click()
    drawn(page).get_by_role("row").filter(has_text="failed to compile").get_by_role(
        "link"
    ).first.click()
    page.wait_for_url(f"**/jobs/{job.pk}/")
    expect(page.locator("#command")).to_contain_text("python -m benchmarks_suite run")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name=re.compile("Copied|Selected"))).to_be_visible()
