"""The rollup by build: each result is merged into it, and it is what all data would make."""

import random
from typing import Any

import pytest

from dashboard.alerts.services.triage import bring_back, mark_invalid
from dashboard.models import BuildLevel, Datum, InvalidPoint
from dashboard.results.services import levels
from tests.builders import site
from tests.builders.alerting import measure

pytestmark = pytest.mark.django_db
OTHER = "2.12.0+cpu"


def measured(
    hour: float,
    value: float,
    width: float = 0.0,
    build: str = site.BUILD,
) -> Any:
    metric = {
        "value": value,
        "low": value - width,
        "high": value + width,
        "n": 5,
    }
    metrics = {"latency_ms": metric, "compile_s": metric | {"value": 2 * value}}
    return measure({}, hour, build=build, metrics=metrics)


def stored_levels() -> list[dict[str, Any]]:
    """The levels of what was measured; whether it passed is a series of its own."""
    rows = BuildLevel.objects.exclude(metric="passed").order_by("series_id", "build_id")
    return list(rows.values())  # type: ignore[arg-type]


def made_again() -> list[dict[str, Any]]:
    rows = BuildLevel.objects.values_list("series_id", "build_id")
    series, builds = zip(*rows, strict=True)
    levels.roll_up(series=set(series), builds=set(builds))
    return stored_levels()


def assert_same(merged: list[dict[str, Any]], made: list[dict[str, Any]]) -> None:
    for level, other in zip(merged, made, strict=True):
        assert level.keys() == other.keys()
        for name, value in level.items():
            if type(value) is float:
                assert other[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
            else:
                assert other[name] == value, name


def test_results_in_any_order_make_the_level_of_all_their_data() -> None:
    chance = random.Random(0)
    for hour in chance.sample(range(20), 12):
        width = chance.choice([0.0, 0.1, 0.3])  # 0: no interval
        build = chance.choice([site.BUILD, OTHER])
        measured(hour, chance.gauss(5, 0.5), width, build)
    merged = stored_levels()
    assert {row["count"] for row in merged} != {1}
    assert_same(merged, made_again())


@pytest.mark.parametrize(
    "values",
    [
        [5.0, 0.0, 4.0],
        [0.0, 5.0, 4.0],
        [5.0, 4.0, 0.0],
    ],
)
def test_value_without_logarithm_leaves_the_level_without_one(values: list[float]) -> None:
    for hour, value in enumerate(values):
        measured(hour, value)
    assert {row["log_mean"] for row in stored_levels()} == {None}
    assert_same(stored_levels(), made_again())


def test_newest_job_of_a_level_is_the_one_that_was_planned_last() -> None:
    newest = measured(5, 2.0)
    measured(3, 2.0)
    assert {row["job"] for row in stored_levels()} == {newest.pk}


def test_storing_a_result_does_not_read_earlier_data_again() -> None:
    first = measured(0, 2.0)
    Datum.objects.filter(job=first).delete()
    measured(1, 4.0)
    assert {row["count"] for row in stored_levels()} == {2}


def test_result_after_an_invalid_point_counts_without_it() -> None:
    wrong = measured(0, 50.0)
    series = Datum.objects.filter(job=wrong)[0].series
    mark_invalid(
        series=series,
        job=wrong,
        reason="the machine was used",
        by=None,
    )
    measured(1, 4.0)
    assert BuildLevel.objects.get(series=series).count == 1
    bring_back(point=InvalidPoint.objects.get())
    assert BuildLevel.objects.get(series=series).count == 2
