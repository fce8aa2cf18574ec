"""Saved views: pages under a name, each person's own."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts.services import saved_views
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import SavedView
from tests.builders.people import viewer
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
PAGE = "/benchmarks/?family=llm&sort=worst"


@pytest.fixture
def me(reader: Client) -> User:
    return User.objects.get(username="reader")


def save(user: User, name: str = "LLMs", address: str = PAGE) -> SavedView:
    return saved_views.save(user_id=user.pk, name=name, address=address)


def test_a_page_is_saved_and_is_in_the_menu_of_every_page(me: User, reader: Client) -> None:
    reader.post("/views/save", {"name": "LLMs", "address": PAGE})
    menu = page_text(reader.get("/views/", headers={"HX-Target": "views", "HX-Request": "true"}))
    assert 'href="/benchmarks/?family=llm&amp;sort=worst"' in menu
    assert "<html" not in menu


def test_the_menu_saves_the_page_where_it_was_opened(me: User, reader: Client) -> None:
    opened = {
        "HX-Target": "views",
        "HX-Request": "true",
        "HX-Current-URL": f"http://testserver{PAGE}",
    }
    assert 'value="/benchmarks/?family=llm&amp;sort=worst"' in page_text(
        reader.get("/views/", headers=opened)
    )


def test_saving_under_an_existing_name_replaces_its_page(me: User) -> None:
    save(me)
    assert save(me, "llms", "/runs/").address == "/runs/"
    assert SavedView.objects.count() == 1


@pytest.mark.parametrize(
    "address",
    [
        "https://elsewhere.example/",
        "//elsewhere.example/",
        "runs/",
        "/nowhere/",
        "/admin/",
        "javascript:x",
        "",
    ],
)
def test_only_pages_of_this_site_are_saved(me: User, address: str) -> None:
    with pytest.raises(ActionNotAllowed, match="not a page of this site"):
        save(me, address=address)


@pytest.mark.parametrize(("name", "message"), [("  ", "no name"), ("x" * 81, "81 letters")])
def test_a_view_needs_a_name_that_fits(me: User, name: str, message: str) -> None:
    with pytest.raises(ActionNotAllowed, match=message):
        save(me, name)


def test_a_view_is_renamed_and_removed(me: User, reader: Client) -> None:
    view = save(me)
    reader.post(f"/views/{view.pk}", {"act": "rename", "name": "Mine"})
    assert "Mine" in text(reader, "/views/")
    reader.post(f"/views/{view.pk}", {"act": "remove"})
    assert "Nothing is saved yet" in text(reader, "/views/")


def test_two_views_do_not_share_a_name(me: User, reader: Client) -> None:
    save(me)
    other = save(me, "Runs", "/runs/")
    shown = page_text(
        reader.post(f"/views/{other.pk}", {"act": "rename", "name": "llms"}, follow=True)
    )
    assert "choose another name" in shown


def test_the_views_of_others_are_neither_shown_nor_changed(me: User, reader: Client) -> None:
    theirs = save(viewer("other"), "Theirs")
    assert "Theirs" not in text(reader, "/views/")
    assert reader.post(f"/views/{theirs.pk}", {"act": "remove"}).status_code == 404


def test_the_sites_address_by_itself_leads_to_the_default_view(me: User, reader: Client) -> None:
    view = save(me)
    reader.post(f"/views/{view.pk}", {"act": "default"})
    typed = reader.get("/", headers={"Sec-Fetch-Site": "none"})
    assert typed.status_code == 302
    assert typed.headers["Location"] == PAGE


def test_a_link_to_the_overview_leads_to_the_overview(me: User, reader: Client) -> None:
    saved_views.make_default(user_id=me.pk, view=save(me))
    assert reader.get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_the_overview_as_default_view_leads_nowhere_else(me: User, reader: Client) -> None:
    saved_views.make_default(user_id=me.pk, view=save(me, "Home", "/"))
    assert reader.get("/", headers={"Sec-Fetch-Site": "none"}).status_code == 200


def test_there_is_one_default_view(me: User) -> None:
    for name in ("One", "Two"):
        saved_views.make_default(user_id=me.pk, view=save(me, name))
    assert [view.name for view in SavedView.objects.filter(is_default=True)] == ["Two"]
    saved_views.make_default(user_id=me.pk, view=None)
    assert not SavedView.objects.filter(is_default=True).exists()


@pytest.mark.parametrize(
    ("next_page", "led_to"),
    [
        ("", PAGE),
        ("/", PAGE),
        ("/fleet/", "/fleet/"),
    ],
)
def test_signing_in_leads_to_the_default_view_unless_a_page_was_requested(
    client: Client, next_page: str, led_to: str
) -> None:
    user = viewer("somebody", password="rather-long-word")
    saved_views.make_default(user_id=user.pk, view=save(user))
    answer = client.post(
        "/sign-in/",
        {
            "username": "somebody",
            "password": "rather-long-word",
            "next": next_page,
        },
    )
    assert answer.headers["Location"] == led_to


def test_a_stranger_is_asked_to_sign_in_before_saving(client: Client) -> None:
    answer = client.post("/views/save", {"name": "x", "address": PAGE})
    assert answer.headers["Location"].startswith("/sign-in/")
