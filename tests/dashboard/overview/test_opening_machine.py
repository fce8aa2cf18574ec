"""The overview, the versions and the advisor begin with the same machine."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import BuildLevel, Run, Series
from dashboard.results.selectors.rollup import opening_machine
from tests.builders import releases

pytestmark = pytest.mark.django_db
PAGES = ["/", "/versions/", "/advisor/"]


@pytest.fixture
def two_machines(two_releases: None) -> None:
    """h100 has most of the cases, a100 the newest results."""
    releases.import_two_releases(machine="a100", models=["gpt2", "llama"], repeats=1, seed=2)
    _measured_later("a100")


def _measured_later(machine: str) -> None:
    later = F("last_at") + timedelta(days=1)
    Series.objects.filter(machine__key=machine).update(last_at=later)


def _opened(reader: Client, page: str) -> str:
    context = reader.get(page).context
    if page == "/":
        return str(context["place"].machine.key)
    if page == "/versions/":
        return str(context["selection"].machine.machine_key)
    return str(context["where"].machine_key)


@pytest.mark.parametrize("page", PAGES)
def test_pages_begin_with_the_machine_that_measured_last(
    two_machines: None, reader: Client, page: str
) -> None:
    assert _opened(reader, page) == "a100"


@pytest.mark.parametrize("page", PAGES)
def test_pages_begin_with_the_same_machine_after_another_measured(
    two_machines: None, reader: Client, page: str
) -> None:
    for _ in range(2):
        _measured_later("h100")
    assert _opened(reader, page) == "h100"


def test_versions_begin_with_a_machine_that_measured_two_builds(
    two_machines: None, reader: Client
) -> None:
    Run.objects.filter(machine__key="a100", build__label=releases.BASE).delete()
    assert _opened(reader, "/versions/") == "h100"


def test_advisor_begins_with_a_machine_that_has_a_choice_of_configs(
    two_machines: None, reader: Client
) -> None:
    compiled = BuildLevel.objects.filter(series__machine__key="a100")
    compiled.exclude(series__config__name="eager").delete()
    assert _opened(reader, "/advisor/") == "h100"


def test_machine_without_any_series_is_better_than_none(db: None) -> None:
    assert opening_machine(["cpu-2c", "cpu-1c"]) == "cpu-1c"


@pytest.mark.parametrize("page", ["/versions/", "/advisor/"])
def test_choosing_the_machine_takes_one_query(
    two_machines: None, reader: Client, page: str
) -> None:
    reader.get(page)  # what is kept from now on
    counts = []
    for address in (page, f"{page}?machine=a100"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            reader.get(address)
        counts.append(len(queries))
    assert counts[0] == counts[1] + 1
