"""The rollup by day, kept at ingest, and what the overview reads from it.

Whatever arrives late, twice or wrong.
"""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.alerts.services import triage
from dashboard.models import Benchmark, DayLevel, Job, Machine, Series, Worker
from dashboard.overview.core.summary import FamilyFigure
from dashboard.overview.selectors import families, overview
from dashboard.overview.selectors.families import Families
from dashboard.results.selectors import rollup
from dashboard.results.selectors.build_order import newest_first
from dashboard.results.services.ingest import ingest
from dashboard.runs.services.partitions import ensure_partitions
from tests.builders import site

pytestmark = pytest.mark.django_db
NIGHT = datetime(2026, 11, 1, 3, tzinfo=UTC)
SPEEDUP = 1  # its place in metrics.SUMMARY


@pytest.fixture
def worker() -> Worker:
    return site.worker()


def measured(
    worker: Worker,
    night: int,
    values: Mapping[str, float],
    status: str = "pass",
    **job_fields: Any,
) -> Job:
    """A job of that night that brought these values."""
    job = site.queued_job(**{"configs": ("inductor",), **job_fields})
    at = NIGHT + timedelta(days=night)
    ensure_partitions(moments=[at])
    Job.objects.filter(pk=job.pk).update(planned_at=at)
    job = site.claim(job, worker)
    result = site.result(job, values, status=status)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    return job


def read(config: str = "") -> Families:
    (place,) = rollup.series_locations()
    return families.read(place, newest_first(place), config)


def figures() -> list[FamilyFigure]:
    return [figure for figure in read().rows[0].figures if figure]


def speedup() -> FamilyFigure:
    figure = read().rows[0].figures[SPEEDUP]
    assert figure
    return figure


def month() -> str:
    change = speedup().since_month
    return change.text if change else "–"


def test_change_compares_a_case_with_its_own_earlier_value(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0})
    measured(worker, 1, {"speedup": 1.2})
    assert speedup().value == pytest.approx(math.sqrt(1.2))  # both are of one build
    assert month() == "20.0% higher"


def test_night_after_a_failure_is_compared_with_the_night_before_it(
    worker: Worker,
) -> None:
    measured(worker, 0, {"speedup": 1.0})
    measured(worker, 1, {}, status="oom")
    measured(worker, 2, {"speedup": 1.1})
    assert month() == "10.0% higher"


def test_case_that_fails_now_is_in_no_geomean_but_in_the_pass_rate(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 2.0})
    measured(worker, 1, {}, status="fail_accuracy")
    families = read()
    assert families.rows[0].figures[SPEEDUP] is None
    assert families.passing == 0
    assert families.cases == 1


def test_result_that_arrives_late_takes_its_place_between_the_others(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0})
    measured(worker, 2, {"speedup": 2.0})
    measured(worker, 1, {"speedup": 4.0})
    days = DayLevel.objects.filter(metric="speedup").order_by("day")
    moved = list(days.values_list("moved", flat=True))
    assert moved == pytest.approx([0.0, 1.386294, -0.693147])


def test_invalid_point_moves_nothing(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0})
    wrong = measured(worker, 1, {"speedup": 9.0})
    series = Series.objects.get(metric="speedup")
    point = triage.mark_invalid(
        series=series,
        job=wrong,
        reason="noisy",
        by=None,
    )
    assert not DayLevel.objects.filter(metric="speedup", linked__gt=0).exists()
    triage.bring_back(point=point)
    assert DayLevel.objects.filter(metric="speedup", linked=1).exists()


def test_eager_counts_where_cases_pass_and_in_no_comparison_with_it(worker: Worker) -> None:
    measured(worker, 0, {"drift": 1e-7}, configs=("eager",))
    row = read().rows[0]
    assert [bool(figure) for figure in row.figures] == [True, False, False, False, False]


def test_one_config_is_read_alone(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 2.0})
    measured(worker, 0, {"speedup": 8.0}, configs=("regional",))
    alone = read("regional").rows[0].figures[SPEEDUP]
    assert alone is not None
    assert alone.value == pytest.approx(8.0)
    assert speedup().value == pytest.approx(4.0)


def test_confirmations_are_not_part_of_the_trend(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0})
    measured(worker, 1, {"speedup": 3.0}, purpose="confirmation")
    assert not DayLevel.objects.filter(linked__gt=0).exists()


def test_movers_are_read_by_their_metrics_thresholds(worker: Worker) -> None:
    measured(worker, 0, {"latency_ms": 100.0, "peak_memory_gb": 1.0})
    new = site.build("2.14.0+cpu").label
    measured(worker, 1, {"latency_ms": 101.0, "peak_memory_gb": 1.5}, build=new)
    (place,) = rollup.series_locations()
    (mover,) = overview.notable(place, newest_first(place)).movers
    assert mover.metric.key == "peak_memory_gb"
    assert mover.change.tone == "unknown"


def test_compression_ratio_of_a_cpu_is_not_shown(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0, "compression_ratio": 0.05})
    assert "compression_ratio" not in [figure.metric.key for figure in figures()]


def test_compression_ratio_of_a_gpu_is_shown(worker: Worker) -> None:
    measured(worker, 0, {"speedup": 1.0, "compression_ratio": 1.2})
    Machine.objects.update(device_kind="cuda")
    Benchmark.objects.update(size="standard")
    assert "compression_ratio" in [figure.metric.key for figure in figures()]


def test_latest_failures_are_listed_without_unsupported_cases(worker: Worker) -> None:
    measured(worker, 0, {}, status="oom")
    measured(worker, 0, {}, status="unsupported", configs=("regional",))
    (place,) = rollup.series_locations()
    assert [case.status for case in overview.notable(place, newest_first(place)).failed] == ["oom"]
