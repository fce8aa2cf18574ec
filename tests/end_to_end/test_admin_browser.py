"""The admin in a real browser: its forms show what belongs to a choice, and axe finds no fault."""

from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from dashboard.models import Channel, Rule, Schedule
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import notifications, site
from tests.builders.chromium import DESK, PHONE, accessibility_violations, phone_problems
from tests.builders.golden_files import GOLDEN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TABLES = ("run", "schedule", "channel", "rule", "machine", "torchbuild")
MEASURED = ("comparison", "bisection")  # their lists are pages of the site
LISTS = [
    "/admin/",
    "/admin/auth/user/",
    *[f"/admin/dashboard/{table}/" for table in TABLES],
]
IMPORT = "/admin/import-results/"
FORMS = [
    IMPORT,
    "/admin/auth/user/add/",
    *[f"/admin/dashboard/{table}/add/" for table in (*TABLES, *MEASURED)],
]
MOVED = """new Promise((answer) => {
    let sum = 0;
    const add = (entries) => entries.getEntries().forEach((entry) => { sum += entry.value; });
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => answer(sum), 500);
})"""


@pytest.fixture(autouse=True)
def rows() -> None:
    """A row for each list."""
    site.living_worker()
    site.track()
    site.run()
    ensure_nightly(machine=site.machine(), track=site.track())
    notifications.rule(notifications.channel("webhook+https://hooks.example.org/x"))


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def open_form(page: Page, table: str) -> Page:
    page.goto(f"/admin/dashboard/{table}/add/")
    return page


def changes() -> list[str]:
    rows = [
        ("schedule", Schedule.objects.get()),
        ("channel", Channel.objects.get()),
        ("rule", Rule.objects.get()),
        ("machine", site.machine()),
        ("torchbuild", site.build()),
    ]
    return [f"/admin/dashboard/{table}/{row.pk}/change/" for table, row in rows]


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_no_fault_in_the_admin(page: Page, size: Any) -> None:
    page.set_viewport_size(size)
    addresses = [*LISTS, *FORMS, *changes()]
    assert "".join(accessibility_violations(page, address) for address in addresses) == ""


def test_axe_finds_no_fault_in_forms_that_are_unfolded(page: Page) -> None:
    violations = []
    for table in ("run", "rule"):
        open_form(page, table).locator("#content-main summary").click()
        violations.append(accessibility_violations(page))
    assert "".join(violations) == ""


def test_axe_finds_no_fault_in_forms_that_were_refused(page: Page) -> None:
    violations = []
    for table in ("schedule", "channel", "rule"):
        open_form(page, table).get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Please correct the error")).to_be_visible()
        violations.append(accessibility_violations(page))
    assert "".join(violations) == ""


def test_admin_fits_a_phone(page: Page) -> None:
    assert phone_problems(page, [*LISTS, *FORMS]) == []


@pytest.mark.parametrize("table", ["run", "schedule", "channel", "rule"])
def test_form_does_not_move_while_it_loads(page: Page, table: str) -> None:
    assert open_form(page, table).evaluate(MOVED) < 0.1


def test_channel_shows_the_field_of_its_kind_alone(page: Page) -> None:
    open_form(page, "channel")
    expect(page.get_by_label("Send to")).to_be_visible()
    page.get_by_label("Kind").select_option("slack")
    expect(page.get_by_label("Slack webhook URL")).to_be_visible()
    expect(page.get_by_label("Send to")).to_be_hidden()


def test_results_are_imported_with_the_form(page: Page) -> None:
    page.goto(IMPORT)
    page.locator("input[type=file]").set_input_files(GOLDEN / "result.pass.json")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("1 added, 0 here already")).to_be_visible()


def test_channel_is_made_without_scripts(
    browser: Browser, context: BrowserContext, live_server: Any
) -> None:
    plain = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    plain.add_cookies(context.cookies())  # type: ignore[arg-type]  # as they were read
    page = open_form(plain.new_page(), "channel")
    page.get_by_label("Name").fill("ops")
    page.get_by_label("Kind").select_option("webhook")
    page.get_by_label("Webhook URL", exact=True).fill("https://hooks.example.org/x")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Send a test to see whether it arrives.")).to_be_visible()
    plain.close()
    assert Channel.objects.filter(name="ops", url="webhook+https://hooks.example.org/x").exists()


@pytest.mark.charts
def test_schedule_says_when_it_runs_next(page: Page) -> None:
    open_form(page, "schedule")
    page.get_by_label("Sat", exact=True).uncheck()
    page.get_by_label("Sun", exact=True).uncheck()
    expect(page.locator("#preview")).to_contain_text("Monday to Friday at 02:30")
    page.get_by_label("How often").select_option("hourly")
    expect(page.get_by_label("At", exact=True)).to_be_hidden()
    expect(page.locator("#preview")).to_contain_text("Every 6 hours from midnight")


def test_rule_needs_three_choices(page: Page) -> None:
    open_form(page, "rule")
    expect(page.locator(".field-metric_keys")).to_be_hidden()
    page.locator("#id_channels + .select2").click()
    page.keyboard.press("Enter")
    page.get_by_label("Severity").select_option("high")
    page.get_by_label("How often").select_option("daily")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/rule/")
    assert Rule.objects.filter(name="channel 0: high, daily", at__isnull=False).exists()
