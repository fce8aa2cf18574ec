"""The first page of the admin: live facts, "Run now", and every list that the viewer may open."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.builders import site
from tests.builders.alerting import group

pytestmark = pytest.mark.django_db
INDEX, RUN_NOW = "/admin/", 'href="/admin/dashboard/run/add/"'


def content_of(client: Client) -> str:
    """The words of the page's content, without its sidebar."""
    page = client.get(INDEX).text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[page.index("<dl") :]))


def clerk(client: Client, *codenames: str) -> Client:
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(user)
    return client


def test_facts_show_current_activity(admin_client: Client) -> None:
    worker = site.worker()
    waiting = site.queued_job()
    site.claim(site.queued_job(), worker)
    assert waiting.state == "queued"
    group(severity="high")
    page = content_of(admin_client)
    assert "Runs at work 2 1 job being measured" in page
    assert "Jobs waiting 1 for a worker" in page
    assert "Open alerts 1 1 high" in page


def test_silent_worker_is_counted_but_not_alive(admin_client: Client) -> None:
    site.worker()
    assert "Workers alive 0 of 1" in content_of(admin_client)


def test_operator_starts_a_run_from_here(admin_client: Client) -> None:
    assert RUN_NOW in admin_client.get(INDEX).text


def test_viewer_sees_only_permitted_lists(client: Client) -> None:
    clerk(client, "view_run")
    assert "Runs : trigger, cancel, retry" in content_of(client)
    assert "Torch builds" not in content_of(client)
    assert RUN_NOW not in client.get(INDEX).text


def test_staff_without_permissions_see_whom_to_ask(client: Client, settings: Any) -> None:
    settings.PUBLIC_READ = True  # a private site has a page of its own for them
    assert "Ask an administrator to add you to a group" in content_of(clerk(client))


def test_page_asks_few_queries(admin_client: Client, django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        admin_client.get(INDEX)
