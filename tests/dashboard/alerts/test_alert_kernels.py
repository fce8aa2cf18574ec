"""The kernels on either side of a change, as an alert's evidence."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dashboard.models import Alert, Job
from tests.builders import alerting
from tests.builders.kernels import AFTER, BEFORE
from tests.builders.reading import text

pytestmark = pytest.mark.django_db

MaxQueries = Callable[[int], AbstractContextManager[Any]]
BOTH = {"compiled": BEFORE, "eager": BEFORE}


def changed(metric: str = "latency_ms") -> Alert:
    """An alert at the third of four jobs; the first and the last two were profiled."""
    alerting.measured([52.0], metric, profile=BOTH)
    alerting.measured([52.1], metric, first=1)
    alerting.measured([75.0, 75.1], metric, first=2, profile={**BOTH, "compiled": AFTER})
    at = alerting.FIRST + timedelta(hours=2)
    group = alerting.group(evidence=[{"fact": "eager control", "says": "It stayed."}])
    return alerting.alert(group, metric, planned_at=at, seen_at=at)


def test_kernels_are_the_first_evidence(reader: Client) -> None:
    page = text(reader, f"/alerts/{changed().group_id}/")
    assert "A compiled step&#x27;s kernels take 23.3 ms more" in page
    assert page.index("kernels take 23.3 ms more") < page.index("It stayed.")


def test_jobs_next_to_the_change_that_have_a_profile_are_compared(reader: Client) -> None:
    alert = changed()
    first, _, third, _ = Job.objects.order_by("planned_at")
    kernels = reader.get(f"/alerts/{alert.group_id}/").context["shown"].kernels
    assert (kernels.base, kernels.new) == (first, third)


def test_alert_about_eager_shows_the_eager_kernels_first(reader: Client) -> None:
    alert = changed("eager_latency_ms")
    kernels = reader.get(f"/alerts/{alert.group_id}/").context["shown"].kernels
    assert [table.diff.arm for table in kernels.tables] == ["eager", "compiled"]


def test_alert_about_memory_shows_no_kernels(reader: Client) -> None:
    alert = changed("peak_memory_gb")
    assert reader.get(f"/alerts/{alert.group_id}/").context["shown"].kernels is None


def test_side_without_a_profile_shows_no_kernels(reader: Client) -> None:
    alerting.measured([52.0])
    alerting.measured([75.0], first=1, profile=BOTH)
    alert = alerting.alert(alerting.group(), planned_at=alerting.FIRST + timedelta(hours=1))
    assert reader.get(f"/alerts/{alert.group_id}/").context["shown"].kernels is None


def test_page_needs_few_queries(reader: Client, django_assert_max_num_queries: MaxQueries) -> None:
    alert = changed()
    with django_assert_max_num_queries(24):
        reader.get(f"/alerts/{alert.group_id}/")
