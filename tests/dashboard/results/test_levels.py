"""The rollup by build: each landing is merged into it, and it is what all data together would
make.
"""

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


def measured(hour: float, value: float, width: float = 0.0, build: str = site.BUILD) -> Any:
    metric = {"value": value, "low": value - width, "high": value + width, "n": 5}
    return measure(
        {},
        hour,
        build=build,
        metrics={"latency_ms": metric, "compile_s": metric | {"value": 2 * value}},
    )


def kept() -> list[dict[str, Any]]:
    """The levels of what was measured; whether it passed is a series of its own."""
    levels = BuildLevel.objects.exclude(metric="passed").order_by("series_id", "build_id")
    return list(levels.values())  # type: ignore[arg-type]


def made_anew() -> list[dict[str, Any]]:
    rows = BuildLevel.objects.values_list("series_id", "build_id")
    levels.roll_up(series={series for series, _ in rows}, builds={build for _, build in rows})
    return kept()


def assert_same(merged: list[dict[str, Any]], anew: list[dict[str, Any]]) -> None:
    for one, other in zip(merged, anew, strict=True):
        for name, value in one.items():
            assert other[name] == (
                pytest.approx(value, rel=1e-9, abs=1e-12) if type(value) is float else value
            ), name


def test_landings_in_any_order_make_the_level_of_all_their_data() -> None:
    chance = random.Random(0)
    for hour in chance.sample(range(20), 12):
        width = chance.choice([0.0, 0.1, 0.3])  # 0: no interval
        measured(hour, chance.gauss(5, 0.5), width, chance.choice([site.BUILD, OTHER]))
    merged = kept()
    assert {row["count"] for row in merged} != {1}
    assert_same(merged, made_anew())


@pytest.mark.parametrize("values", [[5.0, 0.0, 4.0], [0.0, 5.0, 4.0], [5.0, 4.0, 0.0]])
def test_a_value_that_has_no_logarithm_leaves_the_level_without_one(values: list[float]) -> None:
    for hour, value in enumerate(values):
        measured(hour, value)
    assert {row["log_mean"] for row in kept()} == {None}
    assert_same(kept(), made_anew())


def test_the_newest_job_of_a_level_is_the_one_that_was_planned_last() -> None:
    newest = measured(5, 2.0)
    measured(3, 2.0)
    assert {row["job"] for row in kept()} == {newest.pk}


def test_a_landing_does_not_read_earlier_data_again() -> None:
    first = measured(0, 2.0)
    Datum.objects.filter(job=first).delete()
    measured(1, 4.0)
    assert {row["count"] for row in kept()} == {2}


def test_a_landing_after_a_point_was_called_invalid_counts_without_it() -> None:
    wrong = measured(0, 50.0)
    series = Datum.objects.filter(job=wrong)[0].series
    mark_invalid(series=series, job=wrong, reason="the machine was used", by=None)
    measured(1, 4.0)
    assert BuildLevel.objects.get(series=series).count == 1
    bring_back(point=InvalidPoint.objects.get())
    assert BuildLevel.objects.get(series=series).count == 2
