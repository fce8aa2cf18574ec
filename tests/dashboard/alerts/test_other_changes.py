"""Other changes of a series, as the page of its alert states them."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dashboard.alerts.core.alert_charts import median_after, median_before
from dashboard.alerts.selectors import inbox
from dashboard.alerts.selectors.alert_data import around, step_of
from dashboard.alerts.selectors.alert_page import points
from dashboard.models import Alert, AlertGroup
from dashboard.ui.axes import milliseconds
from tests.builders import alerting, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def change(hour: int, before: float, after: float, **fields: Any) -> Alert:
    """The alert of a change from one level to another, in a group of its own."""
    percent = 100 * (after / before - 1)
    at = alerting.FIRST + timedelta(hours=hour)
    verdict = {"verdict": {"level_before": before, "level_after": after}}
    fields |= {"effect": percent, "low": percent - 1, "high": percent + 1}
    group = alerting.group(new=site.build(fields.pop("build", site.BUILD)))
    return alerting.alert(group, planned_at=at, seen_at=at, decision=verdict, **fields)


def test_points_beyond_the_changes_next_to_it_are_of_another_level() -> None:
    alerting.measured([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 0.5, 0.5])
    change(2, 1.0, 2.0)
    middle = change(4, 2.0, 3.0)
    change(6, 3.0, 0.5)
    levels = [point.level for point in points(around(middle))]
    assert levels == [*["earlier"] * 2, *["before"] * 2, *["after"] * 2, *["later"] * 2]


def test_level_before_begins_where_an_earlier_change_ended() -> None:
    ended = alerting.FIRST + timedelta(hours=4)
    change(2, 1.0, 2.0, recovered_at=ended)
    assert step_of(change(6, 1.0, 1.2)).since_ms == milliseconds(ended)


def test_page_says_that_what_rose_is_lower_than_before(reader: Client) -> None:
    rise = change(2, 2.0, 2.2)
    fall = change(4, 2.2, 1.5, build="2.15.0")
    shown = " ".join(text(reader, rise.group.get_absolute_url()).split())
    assert (
        f'since 2.15.0 below the level before this alert: <a href="/alerts/{fall.group_id}/">'
        in shown
    )
    assert "the level before this alert" not in text(reader, fall.group.get_absolute_url())


@pytest.mark.parametrize(
    "later",
    [(2.2, 2.0), (2.2, 3.0)],
)
def test_change_that_does_not_go_beyond_the_old_level_is_not_named(
    reader: Client, later: tuple[float, float]
) -> None:
    rise = change(2, 2.0, 2.2)
    change(4, *later)
    assert "the level before this alert" not in text(reader, rise.group.get_absolute_url())


def test_fall_that_has_ended_is_not_named(reader: Client) -> None:
    rise = change(2, 2.0, 2.2)
    change(4, 2.2, 1.5)
    change(6, 1.5, 2.2)
    assert "the level before this alert" not in text(reader, rise.group.get_absolute_url())


@pytest.mark.parametrize(("build", "is_said"), [("2.15.0", True), (site.BUILD, False)])
def test_page_says_with_which_build_the_old_level_came_back(
    reader: Client, build: str, is_said: bool
) -> None:
    alerting.measured([1.0, 1.0, 2.0, 2.0])
    alerting.measured([1.0, 1.0], first=4, build=build)
    ended = change(2, 1.0, 2.0, recovered_at=alerting.FIRST + timedelta(hours=4))
    shown = " ".join(text(reader, ended.group.get_absolute_url()).split())
    assert ("back at the old level with 2.15.0" in shown) is is_said


def next_to_a_variant() -> Alert:
    """The change of 2.13.0 to its variant ~fast, with two points of another variant on each side
    of it.
    """
    plan = {
        site.BUILD: [2.0, 2.0],
        f"{site.BUILD}~scalar-1": [9.0, 9.0],
        f"{site.BUILD}~fast-2": [1.0, 1.0],
        f"{site.BUILD}~scalar-3": [8.0, 8.0],
    }
    for place, (build, values) in enumerate(plan.items()):
        alerting.measured(values, first=2 * place, build=build)
    made = change(4, 2.0, 1.0, build=f"{site.BUILD}~fast-2")
    made.base = site.build()
    made.save()
    return made


def test_points_of_another_variant_are_of_neither_level() -> None:
    seen = around(next_to_a_variant())
    levels = [point.level for point in points(seen)]
    variant = ["other settings"] * 2
    assert levels == ["before", "before", *variant, "after", "after", *variant]
    assert seen.line is not None
    assert median_before(seen.line, seen.step) == 2.0
    assert median_after(seen.line, seen.step) == 1.0


def test_jobs_of_another_variant_are_on_neither_side() -> None:
    seen = around(next_to_a_variant())
    assert seen.line is not None
    before, after = seen.jobs_near(8)
    assert before == [seen.line.job[1], seen.line.job[0]]
    assert after == seen.line.job[4:6]


def test_chart_says_that_points_with_other_settings_may_lie_outside(reader: Client) -> None:
    shown = text(reader, f"{next_to_a_variant().group.get_absolute_url()}trend/")
    assert "The axis fits the two levels compared; a double click shows all points." in shown


def test_nightly_builds_are_of_one_level() -> None:
    for place, build in enumerate(("2.15.0.dev1", "2.15.0.dev2", "2.15.0.dev3")):
        alerting.measured([1.0 + place // 2], first=place, build=build)
    made = change(2, 1.0, 2.0, build="2.15.0.dev3")
    made.base = site.build("2.15.0.dev2")
    made.save()
    assert [point.level for point in points(around(made))] == ["before", "before", "after"]


UNDONE = 'since 2.15.0 below the level before this alert: <a href="/alerts/{}/">'


def test_queue_says_that_what_rose_is_lower_than_before(reader: Client) -> None:
    change(2, 2.0, 2.2)
    fall = change(4, 2.2, 1.5, build="2.15.0")
    shown = " ".join(text(reader, "/alerts/").split())
    assert shown.count(UNDONE.format(fall.group_id)) == 1
    assert shown.count("the level before this alert") == 1


@pytest.mark.parametrize("taken_back", ["recovered", "refuted", "invalid", "withdrawn"])
def test_queue_names_no_change_that_was_taken_back(reader: Client, taken_back: str) -> None:
    change(2, 2.0, 2.2)
    fall = change(4, 2.2, 1.5)
    if taken_back == "recovered":
        Alert.objects.filter(pk=fall.pk).update(recovered_at=fall.planned_at + timedelta(hours=1))
    elif taken_back == "refuted":
        AlertGroup.objects.filter(pk=fall.group_id).update(evidence_state="not_reproduced")
    elif taken_back == "invalid":
        AlertGroup.objects.filter(pk=fall.group_id).update(workflow_state="invalid")
    else:
        Alert.objects.filter(pk=fall.pk).update(decision={**fall.decision, "withdrawn": "now"})
    assert "the level before this alert" not in text(reader, "/alerts/")
    assert "the level before this alert" not in text(reader, "/alerts/?state=all")


def test_change_of_another_series_undoes_nothing(reader: Client) -> None:
    change(2, 2.0, 2.2)
    fall = change(4, 2.2, 1.5)
    Alert.objects.filter(pk=fall.pk).update(series=alerting.series(metric="cold_start_s"))
    assert "the level before this alert" not in text(reader, "/alerts/")


def test_list_reads_later_changes_with_its_alerts(
    reader: Client, django_assert_num_queries: Callable[[int], AbstractContextManager[Any]]
) -> None:
    groups = [change(hour, 2.0, 1.9).group for hour in (2, 4, 6)]
    with django_assert_num_queries(1):
        inbox.rows(groups)
