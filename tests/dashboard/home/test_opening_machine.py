"""Home begins with the machine that measured last."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client

from dashboard.models import Series
from dashboard.results.selectors.rollup import opening_machine
from tests.builders import releases

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_machines(two_releases: None) -> None:
    """h100 has most of the cases, a100 the newest results."""
    releases.import_two_releases(machine="a100", models=["gpt2", "llama"], repeats=1, seed=2)
    _measured_later("a100")


def _measured_later(machine: str) -> None:
    later = F("last_at") + timedelta(days=1)
    Series.objects.filter(machine__key=machine).update(last_at=later)


def _opened(reader: Client) -> str:
    return str(reader.get("/").context["place"].machine.key)


def test_home_begins_with_the_machine_that_measured_last(
    two_machines: None, reader: Client
) -> None:
    assert _opened(reader) == "a100"


def test_home_follows_another_machine_that_measured(two_machines: None, reader: Client) -> None:
    for _ in range(2):
        _measured_later("h100")
    assert _opened(reader) == "h100"


def test_machine_without_any_series_is_better_than_none(db: None) -> None:
    assert opening_machine(["cpu-2c", "cpu-1c"]) == "cpu-1c"
