"""The API's page in a real browser."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.builders import alerting
from tests.builders.chromium import accessibility_violations, drawn, phone_problems

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
API = "/api/v1/docs"


@pytest.fixture
def page(context: BrowserContext) -> Page:
    for hour in range(5):
        alerting.measure({"latency_ms": 2.0 + hour / 10}, hour)
    return context.new_page()


def test_axe_finds_no_fault(page: Page) -> None:
    assert accessibility_violations(page, API) == ""


def test_the_security_policy_holds_and_a_phone_is_wide_enough(page: Page) -> None:
    assert phone_problems(page, [API]) == []


def test_a_call_is_tried_with_the_rights_of_who_is_signed_in(page: Page) -> None:
    page.goto(API)
    machines = drawn(page).locator(".opblock", has_text="/api/v1/machines").first
    machines.locator(".opblock-summary-control").click()
    machines.get_by_role("button", name="Try it out").click()
    machines.get_by_role("button", name="Execute").click()
    expect(machines.locator(".live-responses-table")).to_contain_text("cpu-2c")
