"""The browser of the page tests, and who is signed in there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, BrowserContext
from pytest_django.live_server_helper import LiveServer

from tests.builders.chromium import DESK, chromium, errors_of

if TYPE_CHECKING:  # pytest reads this file before Django is set up
    from django.contrib.auth.models import User


# UTC, behind it, and ahead of it by half an hour more
ZONES = ("UTC", "America/Los_Angeles", "Asia/Kolkata")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a browser test in UTC, one marked `charts` in all zones."""
    if "zone" in metafunc.fixturenames:
        of_times = metafunc.definition.get_closest_marker("charts")
        metafunc.parametrize("zone", ZONES if of_times else ZONES[:1])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def wait_for_requests() -> None:
    """Wait for requests of pages that were closed: they would lock tables that are emptied next."""
    busy = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
    """
    deadline = time.monotonic() + 5
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(busy)
            if cursor.fetchone() == (0,):
                return
            time.sleep(0.05)


@pytest.fixture
def window(browser: Browser, zone: str, live_server: LiveServer) -> Iterator[BrowserContext]:
    """A window of a stranger. An error of a page's script fails the test."""
    made = browser.new_context(base_url=live_server.url, viewport=DESK, timezone_id=zone)
    errors = errors_of(made)
    yield made
    made.close()
    wait_for_requests()
    assert errors == []


@pytest.fixture
def context(
    window: BrowserContext,
    live_server: LiveServer,
    client: Client,
    django_user_model: type[User],
) -> BrowserContext:
    """The window in which an operator is signed in."""
    client.force_login(
        django_user_model.objects.create_superuser("operator", password="rather-long-word")
    )
    window.add_cookies(
        [
            {
                "name": "sessionid",
                "value": client.cookies["sessionid"].value,
                "url": live_server.url,
            }
        ]
    )
    return window
