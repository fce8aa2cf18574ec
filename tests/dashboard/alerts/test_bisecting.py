"""A confirmed alert searches by itself since which build, within a budget."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.services import bisecting
from dashboard.comparisons.services.bisections import advance_all
from dashboard.models import AlertGroup, Bisection, Job, TorchBuild
from tests.builders import site
from tests.builders.alerting import end_job
from tests.builders.confirmations import NEW, confirmed_regression
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db

BETWEEN = ("2.13.1", "2.13.2", "2.13.3")


@pytest.fixture
def confirmed() -> AlertGroup:
    """10% slower since 2.14.0; its base is 2.13.0 or older, with three builds between."""
    group = confirmed_regression()
    for label in BETWEEN:
        site.build(label)
    return group


def measure(slow_since: str) -> None:
    """Results for every job of a search that waits."""
    jobs = Job.objects.filter(run__purpose="bisection", state="planned").order_by("position")
    for place, job in enumerate(jobs.select_related("run__build")):
        is_slow = job.run.build.version >= slow_since
        noise = math.sin(place) / 500
        end_job(job, {"latency_ms": (110.0 if is_slow else 100.0) * (1 + noise)})


def searched(slow_since: str = "2.13.2") -> Bisection:
    for _ in range(20):
        measure(slow_since)
        advance_all()
        bisecting.record_ended()
        search = Bisection.objects.get()
        if search.state != "running":
            return search
    raise AssertionError("the search does not end")


def notes(group: AlertGroup) -> list[str]:
    return [event.text for event in group.events.filter(action="note")]


def test_confirmed_alert_starts_a_search_of_its_case(confirmed: AlertGroup) -> None:
    assert bisecting.start_due(now=timezone.now()) == 1
    search = Bisection.objects.get()
    assert (search.group, search.base, search.new) == (confirmed, confirmed.base, confirmed.new)
    assert search.metric == "latency_ms"
    assert notes(confirmed) == [
        f"Searching between {confirmed.base} and {NEW}: {search.get_absolute_url()}"
    ]


def test_what_it_found_is_in_the_history_once(confirmed: AlertGroup) -> None:
    bisecting.start_due(now=timezone.now())
    search = searched()
    assert [search.low.label, search.high.label] == ["2.13.1", "2.13.2"]
    assert bisecting.record_ended() == 0
    assert notes(confirmed)[-1].startswith(
        "Since which build: It changed between 2.13.1 and 2.13.2"
    )


def test_alert_and_its_issue_show_what_was_found(confirmed: AlertGroup, reader: Client) -> None:
    bisecting.start_due(now=timezone.now())
    searched()
    for page in (f"/alerts/{confirmed.pk}/", f"/alerts/{confirmed.pk}/report/"):
        assert "It changed between 2.13.1 and 2.13.2" in page_text(reader.get(page))


def test_alert_is_searched_once(confirmed: AlertGroup) -> None:
    started = [bisecting.start_due(now=timezone.now()) for _ in range(2)]
    assert started == [1, 0]


def test_alert_without_builds_between_is_not_searched(confirmed: AlertGroup) -> None:
    TorchBuild.objects.filter(label__in=BETWEEN).delete()
    assert bisecting.start_due(now=timezone.now()) == 0


def test_suspected_alert_is_not_searched(confirmed: AlertGroup) -> None:
    AlertGroup.objects.update(evidence_state="suspected")
    assert bisecting.start_due(now=timezone.now()) == 0


def test_alert_confirmed_long_ago_is_left_to_people(confirmed: AlertGroup) -> None:
    later = timezone.now() + bisecting.RECENT + timedelta(hours=1)
    assert bisecting.start_due(now=later) == 0


def test_no_search_starts_without_a_budget(confirmed: AlertGroup, settings: Any) -> None:
    settings.BISECTION_JOBS_A_DAY = 0
    assert bisecting.start_due(now=timezone.now()) == 0


def test_search_waits_where_the_day_s_jobs_are_spent(confirmed: AlertGroup, settings: Any) -> None:
    bisecting.start_due(now=timezone.now())
    measure("2.13.2")
    settings.BISECTION_JOBS_A_DAY = 6
    advance_all()
    search = Bisection.objects.get()
    assert (search.state, search.runs.count()) == ("running", 3)
    settings.BISECTION_JOBS_A_DAY = 60
    assert searched().state == "found"
