"""How right the detector was on this site, by month and metric."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from dashboard.alerts.core.rates import Rates, Share
from dashboard.alerts.selectors import live_rates
from dashboard.models import Bisection
from tests.builders import alerting, comparisons, site
from tests.builders.reading import text

NOW = datetime(2026, 11, 23, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC).date()


def rates_of(metric: str) -> Rates:
    """Those of November."""
    (month,) = live_rates.by_month(NOW)
    return next(rates for row, rates in month.rows if row.key == metric)


def found_bisection() -> Bisection:
    """One that has found the newest of its builds; it was started when nothing was reported."""
    comparisons.three_builds()
    bisection = comparisons.started_bisection()
    bisection.state, bisection.finished_at = Bisection.State.FOUND, NOW
    bisection.save()
    return bisection


def test_wilson_interval_of_none_and_of_few() -> None:
    low, high = Share(0, 1000).interval
    assert low == 0
    assert high == pytest.approx(0.00383, abs=1e-4)
    assert Share(1, 2).interval == pytest.approx((0.0945, 0.9055), abs=1e-3)
    assert Share(0, 0).interval == (0, 1)


def test_few_alerts_have_no_percentage() -> None:
    assert Share(1, 4).text == "1 of 4 (4.6 to 70%)"
    assert Share(3, 40).text == "3 of 40: 7.5% (2.6 to 20%)"
    assert Share(0, 0).text == "–"


@pytest.mark.django_db
def test_alerts_are_right_or_wrong_as_people_say_else_as_measured_again() -> None:
    alerting.alert(alerting.group("confirmed"), confirmation="confirmed")
    alerting.alert(alerting.group("fixed"), "drift")
    invalid = alerting.group("invalid")
    alerting.alert(invalid, "peak_memory_gb", confirmation="confirmed")
    gone = alerting.group("not_reproduced")
    alerting.alert(gone, "cold_start_s", confirmation="not_reproduced")
    alerting.alert(alerting.group("inconclusive"), "device_ms", confirmation="inconclusive")
    assert rates_of("latency_ms").right == 1
    assert rates_of("drift").right == 1
    assert rates_of("peak_memory_gb").invalid == 1
    assert rates_of("cold_start_s").not_reproduced == 1
    assert rates_of("device_ms").undecided == 1
    (month,) = live_rates.by_month(NOW)
    assert month.total.false_share == Share(2, 4)


@pytest.mark.django_db
def test_missing_reports_and_what_is_older_than_a_year_do_not_count() -> None:
    alerting.alert(alerting.group("missing_report", kind="silence"))
    old = alerting.FIRST - timedelta(days=400)
    alerting.alert(alerting.group("confirmed"), "drift", planned_at=old, seen_at=old)
    assert live_rates.by_month(NOW) == []


@pytest.mark.django_db
def test_false_alerts_are_counted_against_the_points_of_the_month() -> None:
    alerting.measured(alerting.noise(10))
    alerting.alert(alerting.group("invalid"))
    assert rates_of("latency_ms").per_point == Share(1, 10)


def test_promise_is_broken_only_where_the_whole_interval_is_above_it() -> None:
    assert not Rates(points=1000, raised=2, invalid=2).breaks_promise
    assert Rates(points=1000, raised=9, invalid=9).breaks_promise


@pytest.mark.django_db
def test_change_that_a_bisection_found_first_is_missed() -> None:
    bisection = found_bisection()
    assert rates_of(bisection.metric).missed_share == Share(1, 1)


@pytest.mark.django_db
def test_change_that_was_reported_before_its_bisection_is_not_missed() -> None:
    bisection = found_bisection()
    group = alerting.group("confirmed", base=bisection.base, new=bisection.new)
    alert = alerting.alert(group, bisection.metric, confirmation="confirmed")
    assert rates_of(bisection.metric).missed == 1  # the alert came later
    type(group).objects.update(created_at=bisection.created_at - timedelta(hours=1))
    assert alert.series.machine == bisection.machine
    assert rates_of(bisection.metric).missed == 0


@pytest.mark.django_db
def test_page_shows_rates_next_to_the_promise(reader: Client) -> None:
    alerting.alert(alerting.group("invalid", machine=site.machine()))
    shown = " ".join(text(reader, "/alerts/quality/").split())
    assert "no more than 1 false alert in 1,000 points" in shown
    assert "1 of 1 (21 to 100%)" in shown


@pytest.mark.django_db
def test_page_tells_the_changes_from_the_alerts_that_they_belong_to(reader: Client) -> None:
    group = alerting.group("confirmed")
    alerting.alert(group, seen_at=NOW)
    alerting.alert(group, "cold_start_s", seen_at=NOW)
    shown = text(reader, "/alerts/quality/")
    assert '<td data-label="changes" class="number">2</td>' in shown
    assert '<td data-label="alerts" class="number">1</td>' in shown
