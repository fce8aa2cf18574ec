"""The feed of alerts: what it has, and who may read it."""

from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from dashboard.models import AlertEvent
from tests.builders import alerting
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def titles(client: Client, query: str = "") -> list[str]:
    root = ElementTree.fromstring(text(client, f"/alerts/feed/{query}"))
    return [entry.findtext(f"{ATOM}title") or "" for entry in root.iter(f"{ATOM}entry")]


def test_the_feed_has_what_the_inbox_has(reader: Client) -> None:
    alerting.alert(alerting.group(title="slow", severity="high"))
    alerting.group(title="slight", severity="low")
    assert titles(reader, "?severity=high") == ["slow"]


def test_feed_entry_is_updated_by_its_last_event(reader: Client) -> None:
    group = alerting.group(title="slow")
    event = AlertEvent.objects.create(group=group, action="note", state=group.state)
    root = ElementTree.fromstring(text(reader, "/alerts/feed/"))
    updated = root.findtext(f"{ATOM}entry/{ATOM}updated") or ""
    assert updated.startswith(event.at.strftime("%Y-%m-%dT%H:%M:%S"))


def test_a_feed_reader_gets_in_with_the_key_of_the_inbox(reader: Client) -> None:
    address = reader.get("/alerts/").context["feed"]
    assert "key=" in address
    assert Client().get(address).status_code == 200


def test_without_a_key_the_feed_says_where_to_get_one(client: Client) -> None:
    response = client.get("/alerts/feed/?key=1.0000")
    assert response.status_code == 403
    assert "copy the address" in page_text(response)


def test_feed_key_is_void_after_a_new_password(reader: Client) -> None:
    address = reader.get("/alerts/").context["feed"]
    user = User.objects.get(username="reader")
    user.set_password("another-long-word")
    user.save()
    assert Client().get(address).status_code == 403


def test_on_a_public_site_the_feed_needs_no_key(client: Client) -> None:
    with override_settings(PUBLIC_READ=True):
        assert client.get("/alerts/feed/").status_code == 200


def test_a_stranger_is_asked_to_sign_in(client: Client) -> None:
    assert client.get(f"/alerts/{alerting.group().pk}/").status_code == 302
