"""One page of each kind in a real browser: no error on its console, none in its scripts."""

from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser

from tests.builders.chromium import DESK, drawn, errors_of
from tests.builders.spider import Link, Spider
from tests.builders.varied_site import varied_site

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.timeout(1200)
def test_no_page_writes_an_error(browser: Browser, live_server: Any, admin_client: Client) -> None:
    """In one zone: what differs by zone is text."""
    varied_site()
    spider = Spider(admin_client)
    spider.crawl("/")
    links: dict[str, Link] = {}
    for visit in spider.visits:
        if visit.content_type == "text/html" and not visit.link.is_htmx and visit.status == 200:
            links.setdefault(visit.link.route, visit.link)
    context = browser.new_context(base_url=live_server.url, viewport=DESK, timezone_id="UTC")
    context.add_cookies(
        [
            {
                "name": "sessionid",
                "value": admin_client.cookies["sessionid"].value,
                "url": live_server.url,
            }
        ]
    )
    errors, page = errors_of(context), context.new_page()
    problems = []
    for link in links.values():
        page.goto(link.address)
        drawn(page)
        problems += [f"{link.address}: {error}" for error in errors]
        errors.clear()
    context.close()
    assert problems == []
