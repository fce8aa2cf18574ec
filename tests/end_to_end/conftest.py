"""The browser of the page tests, and who is signed in there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext
from pytest_django.live_server_helper import LiveServer

from tests.builders.chromium import DESK, chromium

if TYPE_CHECKING:  # pytest reads this file before Django is set up
    from django.contrib.auth.models import User


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def context(
    browser: Browser, live_server: LiveServer, client: Client, django_user_model: type[User]
) -> Iterator[BrowserContext]:
    """A window in which an operator is signed in."""
    client.force_login(
        django_user_model.objects.create_superuser("operator", password="rather-long-word")
    )
    made = browser.new_context(base_url=live_server.url, viewport=DESK)
    made.add_cookies(
        [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}]
    )
    yield made
    made.close()
