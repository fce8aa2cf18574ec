"""Times are written in English with their zone, whatever the browser's language and zone are."""

from datetime import UTC, datetime
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from dashboard.language.moments import stamp
from dashboard.models import Run
from tests.builders import site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LANGUAGES = ("pt-BR", "de", "ar", "ja")
ZONES = ("UTC", "America/Sao_Paulo", "Asia/Tokyo")
LONG_AGO = datetime(2026, 7, 3, 2, 4, tzinfo=UTC)
SHOWN = "document.querySelector('main time').textContent"


def page_of(
    browser: Browser, context: BrowserContext, server: LiveServer, language: str, zone: str
) -> Page:
    """A page of whoever is signed in in ``context``, with this language and zone."""
    signed_in = context.storage_state()
    window = browser.new_context(
        base_url=server.url, storage_state=signed_in, locale=language, timezone_id=zone
    )
    return window.new_page()


def test_browser_writes_what_the_server_writes(
    browser: Browser, context: BrowserContext, live_server: LiveServer
) -> None:
    run = site.queued_job().run
    for language, zone in product(LANGUAGES, ZONES):
        page = page_of(browser, context, live_server, language, zone)
        Run.objects.filter(pk=run.pk).update(created_at=datetime.now(UTC))
        page.goto(f"/runs/{run.pk}/")
        assert page.evaluate(SHOWN).endswith((" ago", "now"))
        Run.objects.filter(pk=run.pk).update(created_at=LONG_AGO)
        page.goto(f"/runs/{run.pk}/")
        assert page.evaluate(SHOWN) == stamp(LONG_AGO.astimezone(ZoneInfo(zone)))
        page.context.close()


def test_form_of_a_schedule_begins_with_the_browsers_zone(
    browser: Browser, context: BrowserContext, live_server: LiveServer
) -> None:
    page = page_of(browser, context, live_server, "pt-BR", "America/Sao_Paulo")
    page.goto("/admin/dashboard/schedule/add/")
    assert page.locator("#id_time_zone").input_value() == "America/Sao_Paulo"
    page.context.close()
