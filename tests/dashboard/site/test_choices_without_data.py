"""A choice in an address that has no data: every page says what there is, as links that lead to it,
and its selectors keep what was chosen.
"""

import re
from html import unescape

import pytest
from django.test import Client

from dashboard.models import Track
from tests.builders import releases, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db

CHOICES = [
    ("/", {"machine": "idle"}),
    ("/", {"track": "nightly"}),
    ("/benchmarks/", {"machine": "idle"}),
    ("/benchmarks/", {"track": "nightly"}),
    ("/series/{benchmark}/", {"machine": "idle"}),
    ("/series/{benchmark}/", {"track": "nightly"}),
    ("/compare/", {"machine": "idle"}),
    ("/compare/", {"base": "2.11.0", "new": "2.13.0", "machine": "idle"}),
    ("/compare/", {"base": "2.9.1", "machine": "h100"}),
    ("/compare/", {"machine": "h100", "new_machine": "idle"}),
    ("/compare/", {"machine": "h100", "new_track": "nightly"}),
    ("/compare/", {"track": "nightly"}),
]


@pytest.fixture
def measured(db: None) -> str:
    """Two releases on h100, and what exists without a result; a benchmark that was measured."""
    releases.import_two_releases(repeats=2)
    site.machine("idle")
    site.build("2.9.1")
    Track.objects.create(key="nightly", kind=Track.Kind.NIGHTLY)
    return "gpt2.standard.training.bfloat16.static.b16"


@pytest.mark.parametrize(("address", "choice"), CHOICES)
def test_choice_without_data_says_what_there_is(
    measured: str, reader: Client, address: str, choice: dict[str, str]
) -> None:
    answer = reader.get(address.format(benchmark=measured), choice)
    assert answer.status_code == 200
    page = answer.content.decode()
    assert "No data for this choice" in page
    for name, value in choice.items():
        selector = page.partition(f'<select name="{name}"')[2].partition("</select>")[0]
        assert f"<option selected>{value}</option>" in selector
    empty = page.partition('<div class="empty">')[2].partition("</main>")[0]
    links = re.findall('<a href="([^"]+)"', empty)
    assert links
    for link in links:
        assert "No data for this choice" not in text(reader, unescape(link))


def test_comparison_without_data_has_the_selectors_of_both_sides(
    measured: str, reader: Client
) -> None:
    page = reader.get("/compare/?machine=idle").content.decode()
    names = re.findall(r'<select name="([^"]+)"', page)
    assert {"base", "new", "machine", "new_machine"} <= {*names}
    assert ">2.13.0" in page.partition('<select name="new"')[2].partition("</select>")[0]


def test_what_does_not_exist_is_not_found(measured: str, reader: Client) -> None:
    assert reader.get("/benchmarks/?machine=nowhere").status_code == 404


def test_export_of_a_choice_without_data_is_not_found(measured: str, reader: Client) -> None:
    assert reader.get("/benchmarks/export.csv?machine=idle").status_code == 404
