"""Alerts in a real browser: looked at, chosen with the keyboard, triaged; in both themes and on a
phone.
"""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from dashboard.changes.selectors.tabs import TABS
from dashboard.models import Alert, AlertGroup
from tests.builders import pages
from tests.builders.chromium import PHONE, accessibility_violations, drawn, phone_problems
from tests.builders.committed_data import ShareData

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module", autouse=True)
def history(share: ShareData) -> None:
    share(pages.history_with_alerts)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def confirmed() -> AlertGroup:
    found = AlertGroup.objects.filter(
        evidence_state="confirmed", workflow_state="new", alerts__confirmation="confirmed"
    ).first()
    assert found
    return found


def addresses() -> list[str]:
    alert = Alert.objects.select_related("series__benchmark").filter(group=confirmed()).first()
    assert alert
    series = f"/series/{alert.series.benchmark}/?metric={alert.series.metric}"
    lists = [
        "/alerts/",
        "/alerts/?state=all&direction=all",
        "/alerts/rules/",
    ]
    page = confirmed().get_absolute_url()
    tabs = [f"{page}{tab}/" for tab in TABS if tab != "proof"]
    return [*lists, page, *tabs, series]


def test_axe_finds_no_fault(page: Page) -> None:
    assert "".join(accessibility_violations(page, address) for address in addresses()) == ""


def test_the_pages_keep_to_the_security_policy_and_fit_a_phone(page: Page) -> None:
    assert phone_problems(page, addresses()) == []


def test_an_alert_is_found_looked_at_and_triaged(page: Page) -> None:
    """The morning's work: inbox, evidence, command, verdict."""
    group = confirmed()
    page.goto("/alerts/?state=confirmed&direction=all")
    page.get_by_title(group.title, exact=True).click()
    expect(page.get_by_role("heading", name="Evidence")).to_be_visible()
    page.get_by_role("link", name="Trend").click()
    expect(drawn(page).locator(".plot")).to_have_count(1)
    page.get_by_label("Note").fill("Seen on two machines")
    page.get_by_role("button", name="Add note").click()
    page.get_by_label("Reason", exact=True).first.fill("looking at it")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_role("status")).to_contain_text("Acknowledged.")
    expect(page.locator(".events")).to_contain_text("looking at it")
    page.get_by_role("button", name="Assign to me").click()
    expect(page.get_by_role("status")).to_contain_text("Assigned to operator")
    assert AlertGroup.objects.get(pk=group.pk).state == "acknowledged"


def test_the_inbox_is_worked_with_the_keyboard(page: Page) -> None:
    page.goto("/alerts/?direction=all&state=confirmed")
    count = AlertGroup.objects.filter(workflow_state="new").count()
    for key in ("j", "x", "j", "k", "k"):
        page.keyboard.press(key)
    expect(page.get_by_label("Select alert").first).to_be_checked()
    page.keyboard.press("a")
    expect(page.get_by_role("status")).to_contain_text("Done with 1 of 1")
    assert AlertGroup.objects.filter(workflow_state="new").count() == count - 1


def test_a_key_shows_the_shortcuts_and_escape_hides_them(page: Page) -> None:
    page.goto("/alerts/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_letters_typed_into_a_field_are_not_shortcuts(page: Page) -> None:
    page.goto("/alerts/?direction=all")
    page.get_by_label("Reason").fill("")
    page.get_by_label("Reason").press_sequentially("axj?")
    expect(page.get_by_label("Reason")).to_have_value("axj?")


def test_enter_opens_the_alert(page: Page) -> None:
    page.goto("/alerts/?direction=all")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/alerts/\d+/$"))


def test_one_box_selects_all(page: Page) -> None:
    page.goto("/alerts/?direction=all")
    page.get_by_label("Select all on this page").check()
    for box in page.get_by_label(re.compile("^Select alert")).all():
        expect(box).to_be_checked()


def test_a_filter_changes_the_list_and_back_undoes_it(page: Page) -> None:
    page.goto("/alerts/?direction=all")
    before = page.locator("[data-row]").count()
    page.locator("select[name=workflow_state]").select_option("invalid")
    page.wait_for_url(re.compile("workflow_state=invalid"))
    page.go_back()
    expect(page.locator("[data-row]")).to_have_count(before)


def test_a_search_narrows_the_inbox(page: Page) -> None:
    group = confirmed()
    page.goto("/alerts/?direction=all")
    before = page.locator("[data-row]").count()
    page.keyboard.press("f")
    page.keyboard.type(f"{group.alerts.all()[0].series.benchmark.model} {group.cause}")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q="))
    assert 0 < page.locator("[data-row]").count() < before
    expect(page.get_by_title(group.title, exact=True)).to_be_visible()


def test_phone_has_the_first_response_within_reach(page: Page) -> None:
    group = confirmed()
    page.set_viewport_size(PHONE)
    page.goto(group.get_absolute_url())
    bar = page.get_by_role("group", name="First response")
    expect(bar).to_be_in_viewport()
    bar.get_by_role("button", name="Assign to me").click()
    expect(bar.get_by_role("button", name="Assigned to you")).to_be_disabled()
    bar.get_by_role("button", name="Acknowledge").click()
    expect(bar.get_by_role("button", name="Acknowledged")).to_be_disabled()
    assert AlertGroup.objects.get(pk=group.pk).workflow_state == "acknowledged"


def test_alert_on_a_phone_is_four_screens_long_at_most(page: Page) -> None:
    page.set_viewport_size(PHONE)
    page.goto(confirmed().get_absolute_url())
    height = drawn(page).evaluate("document.documentElement.scrollHeight")
    assert height <= 4 * PHONE["height"]


def test_the_mark_on_a_trend_leads_to_its_alert(page: Page) -> None:
    page.goto(addresses()[-1])
    drawn(page).locator(".plot").first.scroll_into_view_if_needed()
    at = page.locator(".plot").first.evaluate(
        """plot => {
            const { xaxis, yaxis } = plot._fullLayout;
            const trace = plot.data.find(({ name }) => name?.endsWith(" alert"));
            return [
                xaxis._offset + xaxis.d2p(trace.x[0]),
                yaxis._offset + yaxis.d2p(trace.y[0]),
                trace.customdata[0],
            ];
        }"""
    )
    box = page.locator(".plot").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    page.mouse.click(box["x"] + at[0], box["y"] + at[1])
    page.wait_for_url(f"**{at[2]}")
