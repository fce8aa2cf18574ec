"""Input that cannot be stored or read is refused on entry: no request makes a server error."""

from datetime import UTC
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.language.durations import duration
from dashboard.language.reading import read_moment
from dashboard.language.wording import number
from dashboard.models import (
    AlertGroup,
    Annotation,
    Benchmark,
    Channel,
    Comparison,
    Config,
    Delivery,
    Mute,
)
from tests.builders import alerting, site

pytestmark = pytest.mark.django_db
DASHES = "-" * 36
DIGITS = "9" * 5000
EDGES = ("9999-12-31T23:59:59-12:00", "9999-12-31", "0001-01-01T00:00+23:59", "0001-01-01")


@pytest.fixture
def lenient(client: Client) -> Client:
    """A stranger; a server error is an answer and not an exception of the test."""
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize(
    "address",
    [
        "/search/?q=%00",
        "/search/?%00=1",
        "/series/%00/",
        "/api/v1/benchmarks/%00",
        "/export/data.csv?machine=%00",
        f"/export/data.csv?since={quote(EDGES[0])}",
        f"/export/data.jsonl?since={quote(EDGES[2])}",
        f"/jobs/{DASHES}/samples/order.json",
        f"/comparisons/{DASHES}/export.csv",
        f"/runs/{DIGITS}/",
        f"/search/?q={DIGITS}",
    ],
)
def test_address_that_cannot_be_read_is_no_server_error(reader: Client, address: str) -> None:
    reader.raise_request_exception = False
    assert reader.get(address).status_code < 500


def test_wrong_host_is_400_with_its_page(lenient: Client) -> None:
    answer = lenient.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert b"ALLOWED_HOSTS" in answer.content


@pytest.mark.parametrize("page", ["/sign-in/", "/admin/login/"])
def test_name_of_any_length_is_a_wrong_name(lenient: Client, page: str) -> None:
    answer = lenient.post(page, {"username": "a" * 300, "password": "x"})
    assert answer.status_code == 200


@pytest.mark.parametrize("at", EDGES)
def test_remark_at_the_edge_of_time_is_refused(reader: Client, at: str) -> None:
    site.run()
    address = f"/series/{site.MLP}/"
    reader.post(f"{address}remarks", {"text": "x", "at": at})
    assert not Annotation.objects.exists()
    assert reader.get(address).status_code == 200


@pytest.mark.parametrize("at", EDGES)
def test_admins_forms_refuse_the_edge_of_time(admin_client: Client, at: str) -> None:
    site.run()
    mlp = Benchmark.objects.get(name=site.MLP).pk
    day, _, time = at.partition("T")
    form = {"benchmark": mlp, "text": "x", "at_0": day, "at_1": time or "00:00"}
    assert admin_client.post("/admin/dashboard/annotation/add/", form).status_code == 200
    assert not Annotation.objects.exists()


@pytest.fixture
def group() -> AlertGroup:
    return alerting.stepped().group


@pytest.mark.parametrize(
    ("act", "form"),
    [
        ("{}/mute", {"until": "9999-12-31"}),
        ("{}/split", {"alert": DIGITS}),
        ("bulk", {"group": DIGITS, "act": "mine"}),
        ("bulk", {"group": "9" * 19, "act": "mine"}),
        ("{}/note", {"text": "a\x00b"}),
        ("{}/assign", {"to": "a\x00b"}),
    ],
)
def test_act_that_cannot_be_read_changes_nothing(
    operator: Client, group: AlertGroup, act: str, form: dict[str, str]
) -> None:
    operator.raise_request_exception = False
    answer = operator.post(f"/alerts/{act.format(group.pk)}", form)
    assert answer.status_code < 500
    assert not Mute.objects.exists()


@pytest.mark.parametrize("address", ["/tokens/", "/models/star"])
def test_nul_in_a_form_is_400(reader: Client, address: str) -> None:
    assert reader.post(address, {"name": "a\x00", "address": "/runs/"}).status_code == 400


@pytest.mark.parametrize(
    "address",
    [
        "dashboard/delivery/?state__range=0",
        "dashboard/run/?state__range=null",
        "dashboard/annotation/add/?at=nan",
        "dashboard/installedenvironment/1/change/?_to_field=",
        "search/?s=run&page=%25",
    ],
)
def test_filter_written_into_an_address_of_the_admin_is_400(operator: Client, address: str) -> None:
    Delivery.objects.create(
        channel=Channel.objects.create(name="ops", url="webhook+https://x.example"),
        digest="test",
        next_at=timezone.now(),
    )
    assert operator.get(f"/admin/{address}").status_code == 400


def test_form_of_the_admin_with_a_field_that_does_not_exist_is_400(admin_client: Client) -> None:
    site.worker()
    config = Config.objects.get(name="eager")
    address = f"/admin/dashboard/config/{config.pk}/delete/"
    assert admin_client.post(address, {"_to_field": ""}).status_code == 400


def test_number_of_processes_with_5000_digits_is_none(operator: Client) -> None:
    assert not Comparison.objects.exists()
    missing = "00000000-0000-0000-0000-000000000000"
    operator.raise_request_exception = False
    answer = operator.post(f"/comparisons/{missing}/more", {"repeats": DIGITS})
    assert answer.status_code == 404


def test_number_at_the_edge_of_floating_point_is_shown() -> None:
    assert number(5e-324) == "0"


def test_duration_without_end_is_not_known() -> None:
    assert duration(float("inf")) == duration(None)


@pytest.mark.parametrize("text", [*EDGES, "yesterday", ""])
def test_moment_at_the_edge_of_time_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"outside|Invalid"):
        read_moment(text, UTC)


def test_moment_without_a_zone_is_of_the_one_given() -> None:
    assert read_moment("2026-11-23", UTC).isoformat() == "2026-11-23T00:00:00+00:00"
