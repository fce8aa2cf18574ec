"""Data that pages read, and what they make of it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from dashboard.home.selectors import home
from dashboard.language.metrics import METRICS
from dashboard.models import Benchmark, Job, JobState, Worker
from dashboard.results.selectors import rollup, trend
from dashboard.results.selectors.build_order import newest_first
from dashboard.results.selectors.trend import LineSummary
from dashboard.results.services.ingest import ingest
from dashboard.runs.selectors import fleet, runs
from dashboard.ui import locations
from dashboard.ui.charts import ChartLine
from dashboard.ui.locations import NamedRow, SeriesLocation
from tests.builders import site
from tests.builders.read_data import case, line, newest, series_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATENCY = METRICS["latency_ms"]


def test_case_has_the_status_of_its_last_job() -> None:
    failing = case({"speedup": newest(1.5, at_s=1), "latency_ms": newest(None, "oom", at_s=2)})
    assert failing.status == "oom"
    assert failing.failed


@pytest.mark.django_db
def test_failures_are_listed_without_unsupported_cases() -> None:
    worker = site.worker()
    for config, status in (("inductor", "oom"), ("regional", "unsupported")):
        job = site.claim(site.queued_job(configs=(config,)), worker)
        result = site.result(job, {}, status=status)
        ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    (place,) = rollup.series_locations()
    assert [case.status for case in home.failing(place)] == ["oom"]


# --- A trend in words
def summary_of(points: ChartLine) -> LineSummary:
    return trend.summary(points, LATENCY, series_of(points))


def test_builds_measured_in_turn_are_not_a_trend() -> None:
    summary = summary_of(line([10.0, 12.0] * 10, build=["2.12", "2.13"] * 10))
    assert summary.in_turn


def test_old_build_measured_again_to_confirm_is_not_in_turn() -> None:
    points = line(
        [10.0] * 10 + [12.0] * 5 + [10.0] * 5,
        build=["2.12"] * 10 + ["2.13"] * 5 + ["2.12"] * 5,
        purpose=["scheduled"] * 15 + ["confirmation"] * 5,
    )
    assert not summary_of(points).in_turn


def test_step_from_one_point_to_the_next_is_not_shown() -> None:
    # Intervals within one process that do not overlap
    summary = summary_of(line([10.0, 12.0], build=["2.12", "2.13"])).since_previous
    assert summary
    assert summary.tone == "unknown"


def repeated(last: float, spread: float = 0.01) -> Any:
    """One build, measured on forty days with that spread, and the next once."""
    values = 10 * np.exp(np.random.default_rng(1).normal(0, spread, 40))
    points = line([*(10 * values / values.mean()).tolist(), last], build=["2.12"] * 40 + ["2.13"])
    return summary_of(points).since_previous


def test_step_beyond_the_spread_of_repeats_is_shown_with_its_interval() -> None:
    summary = repeated(12.0)
    assert summary.text.startswith("20.0% slower (1")
    assert summary.tone == "bad"


def test_step_whose_interval_includes_none_is_not_shown() -> None:
    summary = repeated(10.1)
    assert "faster to" in summary.text
    assert summary.tone == "unknown"


def test_small_step_whose_interval_reaches_the_threshold_is_not_shown() -> None:
    summary = repeated(10.02, spread=0.02)
    assert summary.text.startswith("0.2% slower (")
    assert summary.tone == "unknown"


def test_small_step_whose_interval_is_within_the_threshold_has_no_tone() -> None:
    assert repeated(10.02, spread=0.002).tone == "none"


def test_spread_of_one_day_says_nothing_of_a_step_to_the_next() -> None:
    points = line([10.0, 10.1] * 10 + [12.0], build=["2.12"] * 20 + ["2.13"])
    days = np.array([*range(20), 24 * 60]) * 60_000
    summary = summary_of(replace(points, at_ms=days)).since_previous
    assert summary
    assert summary.tone == "unknown"
    assert "(" not in summary.text


@pytest.mark.parametrize("repeats", [2, 3, 4, 400])
def test_spread_between_processes_comes_from_repeated_builds_and_ignores_outliers(
    repeats: int,
) -> None:
    values = 10 * np.exp(np.random.default_rng(1).normal(0, 0.01, 400))
    values[::50] *= 3
    builds = [f"b{place // repeats}" for place in range(400)]
    summary = summary_of(line(list(values), build=builds))
    assert summary.between_percent == pytest.approx(1.0, rel=0.2)


def test_without_repeats_the_spread_between_processes_is_unknown() -> None:
    assert summary_of(line([10.0, 11.0], build=["a", "b"])).between_percent is None


def test_another_version_of_the_benchmark_is_another_segment() -> None:
    points = line([10.0] * 10 + [40.0, 40.2] * 5, version=[1] * 10 + [2] * 10)
    summary = summary_of(points)
    assert summary.between_percent is not None
    assert summary.between_percent < 2


# --- Time left
def job(
    state: str,
    minutes: float = 0,
    took_s: float | None = None,
    benchmark_id: int = 1,
) -> Job:
    """A job that was claimed so long ago, and took so long."""
    claimed = NOW - timedelta(minutes=minutes) if minutes else None
    finished = claimed + timedelta(seconds=took_s) if claimed and took_s is not None else None
    return Job(
        state=state,
        benchmark_id=benchmark_id,
        config_id=1,
        claimed_at=claimed,
        finished_at=finished,
    )


def test_time_left_is_the_cases_earlier_time_shared_by_the_workers() -> None:
    jobs = [job(JobState.QUEUED), job(JobState.QUEUED, benchmark_id=2)]
    assert runs.seconds_left(jobs, {(1, 1): 60.0, (2, 1): 100.0}, 2, NOW) == pytest.approx(80)


def test_new_case_counts_as_those_of_this_run_and_at_first_as_its_budget() -> None:
    ended = job(JobState.DONE, minutes=9, took_s=30.0)
    queued = job(JobState.QUEUED, benchmark_id=5)
    assert runs.seconds_left([ended, queued], {}, 1, NOW) == pytest.approx((30 + 5 * 80) / 6)
    assert runs.seconds_left([ended] * 9995 + [queued], {}, 1, NOW) == pytest.approx(30, rel=1e-3)


def test_time_spent_by_a_running_job_is_subtracted() -> None:
    assert runs.seconds_left(
        [job(JobState.RUNNING, minutes=1)], {(1, 1): 100.0}, 1, NOW
    ) == pytest.approx(40)


def test_job_that_overruns_its_earlier_time_still_has_time_left() -> None:
    jobs = [job(JobState.RUNNING, minutes=3), job(JobState.QUEUED)]
    assert runs.seconds_left(jobs, {(1, 1): 60.0}, 1, NOW) == pytest.approx(180 + 60)


@pytest.mark.parametrize(
    ("expected", "workers"), [({}, 1), ({(1, 1): 60.0}, 0)], ids=["nothing known", "nobody works"]
)
def test_time_left_is_unknown(expected: dict[tuple[int, int], float], workers: int) -> None:
    assert runs.seconds_left([job(JobState.QUEUED)], expected, workers, NOW) is None


# --- With the database
@pytest.mark.django_db
def test_ingested_result_is_read_back_as_a_case_and_a_trend() -> None:
    worker = site.worker()
    measured = site.running_job(worker)
    ingest(
        job_id=measured.pk,
        worker=worker,
        body=site.delivery(measured, site.result(measured, {"latency_ms": 2.0})),
    )
    (place,) = rollup.series_locations()
    (rollup_row,) = rollup.case_rollups(place, newest_first(place), ["latency_ms"])
    assert rollup_row.benchmark == site.MLP
    assert rollup_row.value("latency_ms") == 2.0
    assert rollup_row.status == "pass"
    series = trend.recorded_series(Benchmark.objects.get(name=site.MLP), place)
    (drawn,) = series.lines(series.choose("latency_ms", ["eager"]))
    assert list(drawn.value) == [2.0]
    assert drawn.build == (site.BUILD,)
    assert drawn.job == (str(measured.pk),)


@pytest.mark.django_db
def test_crash_is_in_the_trend_of_latency() -> None:
    worker = site.worker()
    crashed = site.running_job(worker)
    ingest(
        job_id=crashed.pk,
        worker=worker,
        body=site.delivery(crashed, status="crashed", message="signal 11"),
    )
    (place,) = rollup.series_locations()
    series = trend.recorded_series(Benchmark.objects.get(name=site.MLP), place)
    (drawn,) = series.lines(series.choose("latency_ms", []))
    assert list(drawn.status) == ["crashed"]
    assert np.isnan(drawn.value).all()
    assert rollup.case_rollups(place, newest_first(place), ["speedup"])[0].status == "crashed"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, "idle"),
        ({"paused": True}, "paused"),
        ({"full_disk": "The disk under / has 3 MB free."}, "blocked"),
        ({"device_holder": "process 77"}, "blocked"),
        ({"last_seen": NOW - timedelta(hours=1)}, "silent"),
    ],
)
def test_worker_has_its_current_state(fields: dict[str, Any], state: str) -> None:
    Worker.objects.create(
        name="w", machine=site.machine(), token_hash="1", **{"last_seen": NOW, **fields}
    )
    ((row,),) = (machine.workers for machine in fleet.machines(NOW))
    assert row.state == state


def test_machine_is_chosen_even_if_the_track_has_no_data_there() -> None:
    places = [
        SeriesLocation(NamedRow(1, machine, ""), NamedRow(1, track, ""), "", NOW)
        for machine, track in (("a", "x"), ("b", "y"))
    ]
    assert locations.choose_location(places, "b", "x") is places[1]
