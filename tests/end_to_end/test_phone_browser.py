"""Things that would overlap or vanish on a phone: dates of a chart, the columns of a table."""

import pytest
from playwright.sync_api import BrowserContext, Page

from dashboard.models import Job
from tests.builders import imported_history, pages
from tests.builders.chromium import PHONE, drawn
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# From a morning on, so that two dates stand next to each other
OVERLAPPING_DATES = """async (plot) => {
    const axis = plot._fullLayout.xaxis, hour = 3_600_000, day = 24 * hour;
    const start = Math.floor(axis.r2l(axis.range[1]) / day) * day - 2 * day + 11 * hour;
    plot.isFollowing = true; // no wish of the viewer
    await Plotly.relayout(plot, { "xaxis.range": [start, start + 44 * hour].map(axis.l2r) });
    const texts = [...plot.querySelectorAll(".xtick text")];
    const boxes = texts.map((text) => text.getBoundingClientRect());
    boxes.sort((a, b) => a.left - b.left);
    const overlaps = boxes.slice(1).filter((box, index) => box.left < boxes[index].right);
    return [boxes.length, overlaps.length];
}"""
COLUMN_WIDTHS = """(main) => {
    const name = "settings.env.PYTORCH_SKIP_CUDNN_COMPATIBILITY_CHECK";
    const sha = "70d99e998b4955e0049d13a98d77ae1b14db1f45";
    main.innerHTML = `<div class="scroll"><table class="pairs"><tbody><tr>
        <th><code>${name}</code></th><td>${sha}</td><td>${sha}</td>
        </tr></tbody></table></div>`;
    return [...main.querySelectorAll("td")].map((cell) => cell.getBoundingClientRect().width);
}"""

# How far the shadows of both edges reach into a table, before and after it is scrolled to its end
EDGE_SHADOWS = """async (main, width) => {
    main.innerHTML = '<div class="scroll"><table><tbody><tr><td>1</td></tr></tbody></table></div>';
    const box = main.firstElementChild;
    box.firstElementChild.style.minWidth = width;
    const reaches = [];
    for (const left of [0, box.scrollWidth]) {
        box.scrollLeft = left;
        await new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)));
        const shadow = getComputedStyle(box).boxShadow;
        reaches.push([...shadow.matchAll(/(-?\\d+)px 0px/g)].map((reach) => Number(reach[1])));
    }
    return reaches;
}"""


@pytest.fixture(scope="module", autouse=True)
def small_site(share: ShareData) -> None:
    share(pages.small_site)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    opened = context.new_page()
    opened.set_viewport_size(PHONE)
    return opened


@pytest.mark.charts
def test_dates_of_a_chart_do_not_overlap(page: Page) -> None:
    benchmark = Job.objects.select_related("benchmark").get(result__isnull=False).benchmark
    page.goto(f"/series/{benchmark}/?config=eager")
    plot = drawn(page).locator(".plot").first
    dates, overlaps = plot.evaluate(OVERLAPPING_DATES)
    assert dates > 1
    assert overlaps == 0


def test_both_values_of_a_difference_have_room(page: Page) -> None:
    page.goto("/glossary/")
    before, after = page.locator("main").evaluate(COLUMN_WIDTHS)
    assert before > 80
    assert after == pytest.approx(before, abs=1)


def test_edge_beyond_which_a_table_goes_on_has_a_shadow(page: Page) -> None:
    page.goto("/glossary/")
    at_start, at_end = page.locator("main").evaluate(EDGE_SHADOWS, "200%")
    assert [reach != 0 for reach in at_start] == [False, True]
    assert [reach != 0 for reach in at_end] == [True, False]


def test_table_that_fits_has_no_shadow(page: Page) -> None:
    page.goto("/glossary/")
    assert page.locator("main").evaluate(EDGE_SHADOWS, "50%") == [[], []]


def test_name_of_300_letters_widens_no_page(page: Page) -> None:
    imported_history.imported(imported_history.history([1.0], name="x" * 300))
    job = Job.objects.get(run__track__key=imported_history.TRACK)
    place = f"?machine=github-actions&track={imported_history.TRACK}"
    for address in (f"/benchmarks/{place}", f"/series/{job.benchmark}/", job.get_absolute_url()):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], address
