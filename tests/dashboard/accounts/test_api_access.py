"""Access to the API, and what all its answers have in common."""

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import alerting, site
from tests.builders.api import API, Caller, token
from tests.builders.people import viewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token())


def test_stranger_is_asked_to_send_a_token(client: Client) -> None:
    answer = client.get(API + "machines")
    assert answer.status_code == 401
    assert "Bearer" in answer.json()["detail"]


def test_public_site_needs_no_token_for_reading(client: Client, settings: Any) -> None:
    settings.PUBLIC_READ = True
    assert client.get(API + "machines").status_code == 200
    assert client.post(API + "runs", {}, content_type="application/json").status_code == 401


def test_invalid_token_is_refused_even_where_none_is_needed(settings: Any) -> None:
    settings.PUBLIC_READ = True
    assert "revoked" in Caller("cw_nobodys").get("machines", expect=401)["detail"]


def test_a_token_without_the_scope_is_refused_with_its_name() -> None:
    answer = Caller(token("read")).post("runs", {"build": "x"}, expect=403)
    assert "scope trigger" in answer["detail"]


def test_a_token_allows_no_more_than_its_owner_may(django_user_model: type[User]) -> None:
    bob = viewer("bob")
    answer = Caller(token(owner=bob)).post("runs", {"build": "x"}, expect=403)
    assert "dashboard.add_run" in answer["detail"]


def test_somebody_signed_in_reads_without_a_token(reader: Client) -> None:
    assert reader.get(API + "machines").status_code == 200


def test_a_browser_needs_the_csrf_token_to_change_something(django_user_model: type[User]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(django_user_model.objects.create_superuser("operator"))
    answer = browser.post(API + "runs", {"build": "x"}, content_type="application/json")
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["detail"]


def test_unchanged_content_is_answered_without_a_body(caller: Caller) -> None:
    site.machine()
    first = caller.client.get(API + "machines")
    headers = {"If-None-Match": first.headers["ETag"]}
    again = caller.client.get(API + "machines", headers=headers)
    assert again.status_code == 304
    assert again.content == b""
    site.machine("h100")
    assert caller.client.get(API + "machines", headers=headers).status_code == 200


def test_a_list_is_followed_page_by_page_to_its_end(caller: Caller) -> None:
    keys = [f"m{number}" for number in range(7)]
    for key in keys:
        site.machine(key)
    assert [row["key"] for row in caller.all("machines", page_size=3)] == keys


def test_row_added_between_pages_repeats_no_row(caller: Caller) -> None:
    for number in range(4):
        alerting.group(title=f"{number}")
    first = caller.get("alerts", page_size=2)
    alerting.group(title="new")
    rest = caller.client.get(first["next"].removeprefix("http://testserver")).json()
    assert [row["title"] for row in [*first["results"], *rest["results"]]] == ["3", "2", "1", "0"]


@pytest.mark.parametrize("cursor", ["x", "cD1hYmM=", "bz05OTk5OTk5", "cD0lMDA=", "ü"])
def test_a_cursor_that_the_list_never_gave_is_refused(caller: Caller, cursor: str) -> None:
    assert "query.cursor" in caller.get("runs", expect=422, cursor=cursor)["detail"]


@pytest.mark.parametrize(
    "path",
    [
        "runs/99",
        "jobs/00000000-0000-4000-8000-000000000000",
        "alerts/99",
        "series/99",
        "builds/none",
        "benchmarks/none",
        "comparisons/00000000-0000-4000-8000-000000000000",
        "runs/99999999999999999999",
    ],
)
def test_missing_row_is_named(caller: Caller, path: str) -> None:
    assert caller.get(path, expect=404)["detail"].startswith("There is no ")


@pytest.mark.parametrize("path", ["", "nothing", "runs/", "runs/x", "worker/nothing"])
def test_address_without_a_call_is_refused_as_json(client: Client, path: str) -> None:
    for answer in (client.get(API + path), client.post(API + path)):
        assert answer.status_code == 404
        assert "/api/v1/docs lists them" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "runs", "GET, POST"),
        ("GET", "runs/plan", "POST"),
        ("POST", "machines", "GET"),
        ("GET", "worker/hello", "POST"),
    ],
)
def test_method_that_a_call_does_not_have_is_refused_as_json(
    client: Client, method: str, path: str, allowed: str
) -> None:
    answer = client.generic(method, API + path)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == allowed
    detail = answer.json()["detail"]
    assert detail == f"There is no call {method} /api/v1/{path}: this address takes {allowed}."


@pytest.mark.parametrize("path", ["comparisons/1", "comparisons/1/report"])
def test_comparison_by_a_number_is_told_what_its_id_is(caller: Caller, path: str) -> None:
    detail = caller.get(path, expect=404)["detail"]
    assert detail.endswith(
        "The id is the uuid in the page's address; `GET comparisons` lists them."
    )


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("{", "line 1 column 2"),
        ('{"build":\n NaN}', "line 2 column 2"),
        ("[" * 5000 + "]" * 5000, "depth limit exceeded"),
        (b"\xff", "UTF-8"),
    ],
)
def test_body_that_is_not_json_is_400_with_its_place(
    caller: Caller, body: str | bytes, place: str
) -> None:
    answer = caller.client.post(f"{API}runs/plan", body, content_type="application/json")
    assert answer.status_code == 400
    detail = answer.json()["detail"]
    assert detail.startswith("The body is not JSON (NaN and Infinity are not either): ")
    assert place in detail


def test_body_over_the_limit_is_413_as_json(caller: Caller) -> None:
    body = {"build": "x" * settings.DOCUMENT_LIMIT_BYTES}
    assert "longer than 64 kB" in caller.post("runs/plan", body, expect=413)["detail"]


@pytest.mark.parametrize("path", ["runs/plan", "comparisons/plan"])
def test_error_names_the_first_of_many_unknown_fields(caller: Caller, path: str) -> None:
    error = caller.post(path, {f"f{number}": 1 for number in range(2_000)}, expect=422)
    assert "Unknown field 'f0'. Known: " in error["detail"]
    assert error["detail"].endswith("more)")
    assert len(error["detail"]) < 2_000


def test_error_names_the_first_of_many_wrong_values(caller: Caller) -> None:
    error = caller.post("runs/plan", {"benchmarks": [1] * 400}, expect=422)
    assert error["detail"].endswith("more)")
    assert len(error["detail"]) < 2_000


def test_host_that_is_not_the_sites_is_refused_as_json(client: Client) -> None:
    answer = client.get(API + "machines", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "ALLOWED_HOSTS" in answer.json()["detail"]


def test_filter_with_invalid_text_is_refused_with_its_place(caller: Caller) -> None:
    assert caller.get("series", expect=422, metric="a" * 301)["detail"].startswith("query.")


def test_address_with_a_nul_is_refused_as_the_api_refuses(caller: Caller) -> None:
    assert "NUL" in caller.get("series", expect=422, metric="\x00")["detail"]


def test_the_description_is_openapi_3_1_and_everybodys(client: Client) -> None:
    schema = client.get(API + "openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    assert {"/api/v1/runs", "/api/v1/series/{pk}/data", "/api/v1/results"} <= schema["paths"].keys()


def test_every_call_but_the_description_has_a_summary_of_its_own(client: Client) -> None:
    schema = client.get(API + "openapi.json").json()
    calls = [call for path in schema["paths"].values() for call in path.values()]
    assert all(call.get("description") for call in calls)
    assert [call["summary"] for call in calls if "`" in call["summary"]] == []


def test_page_of_the_description_needs_the_same_access_as_other_pages(
    client: Client, reader: Client
) -> None:
    assert Client().get(API + "docs").headers["Location"].startswith("/sign-in/")
    page = reader.get(API + "docs").content.decode()
    assert 'data-schema="/api/v1/openapi.json"' in page
