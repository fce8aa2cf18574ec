"""Pages for people who are not signed in, who follow a dead link, or whom the site fails."""

import json
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import resolve

from dashboard.ui.pages import failures
from dashboard.ui.rows import LISTS
from tests.builders.pages import PLAIN_PAGES
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("url", PLAIN_PAGES)
def test_stranger_is_asked_to_sign_in(client: Client, url: str) -> None:
    response = client.get(url)
    assert response.status_code == 302
    assert response.headers["Location"] == f"/sign-in/?next={url}"


def test_wrong_passwords_are_explained(client: Client) -> None:
    shown = page_text(client.post("/sign-in/", {"username": "a", "password": "b"}))
    assert "do not belong together" in shown


def test_page_that_does_not_exist_leads_back(reader: Client) -> None:
    response = reader.get("/nothing/")
    assert response.status_code == 404
    assert 'href="/benchmarks/"' in page_text(response)


NOBODYS = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("/alerts/99/", "There is no alert 99: /alerts/ lists them."),
        ("/runs/99/", "There is no run 99: /runs/ lists them."),
        ("/bisections/99/", "There is no bisection 99: /experiments/ lists them."),
        ("/series/nope/", "There is no benchmark nope: /benchmarks/ lists them."),
        (f"/comparisons/{NOBODYS}/", f"There is no comparison {NOBODYS}: /experiments/ lists"),
        ("/api/v1/alerts/99", "There is no alert 99: /alerts/ lists them."),
        ("/api/v1/benchmarks/nope/figure", "There is no benchmark nope: /benchmarks/ lists them."),
    ],
)
def test_what_is_missing_is_named_with_the_list_of_such_things(
    reader: Client, url: str, message: str
) -> None:
    response = reader.get(url)
    assert response.status_code == 404
    assert message in response.content.decode()


@pytest.mark.parametrize(
    ("address", "page"),
    [
        (f"/factorials/{NOBODYS}/", "/runs/"),
        ("/embed/series/mlp.x/?axis=time", "/series/mlp.x/?axis=time"),
        ("/views/", "/tokens/"),
        ("/versions/?machine=h200", "/?machine=h200"),
        ("/versions/?machine=h200&base=2.11.0", "/compare/?machine=h200&base=2.11.0"),
        ("/versions/?benchmark=mlp.x&base=2.11.0", "/series/mlp.x/?axis=release"),
        ("/advisor/?machine=h200", "/benchmarks/?machine=h200"),
        ("/advisor/mlp.x/?start=warm", "/series/mlp.x/?start=warm#configs"),
        ("/comparisons/?page=2", "/experiments/?page=2"),
        ("/bisections/", "/experiments/"),
        ("/alerts/report/", "/alerts/"),
        ("/docs/coverage/", "/docs/reference-models/"),
        ("/alerts/7/evidence.zip?alert=9", "/alerts/7/report.zip?alert=9"),
    ],
)
def test_removed_page_leads_to_what_replaces_it(reader: Client, address: str, page: str) -> None:
    response = reader.get(address)
    assert response.status_code == 301
    assert response.headers["Location"] == page


def test_removed_call_says_what_replaces_it(client: Client) -> None:
    response = client.post("/api/v1/factorials/plan")
    assert response.status_code == 410
    assert "compare builds that differ in one factor" in response.json()["detail"]


def test_lists_of_things_are_pages() -> None:
    for address in LISTS.values():
        if address.startswith("/"):
            assert resolve(address).url_name


def test_programs_are_told_of_a_server_error_as_json(rf: Any) -> None:
    answer = failures.failed(rf.get("/api/v1/runs"))
    assert answer.status_code == 500
    assert "The site made a mistake" in json.loads(answer.content)["detail"]


def test_page_of_a_server_error_needs_nothing_that_may_be_broken(rf: Any) -> None:
    from django.views.defaults import server_error

    assert "The site made a mistake" in server_error(rf.get("/")).content.decode()


@override_settings(ALLOWED_HOSTS=["testserver"])
def test_names_from_outside_are_escaped(reader: Client) -> None:
    assert "<script>" not in page_text(reader.get("/benchmarks/?machine=<script>alert(1)</script>"))
