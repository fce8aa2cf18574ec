"""Every place that says "newest" names one build and one number: the newest build of the track, by
version, whenever it was measured, and the mean of its processes.
"""

import math
import random
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from django.test import Client
from packaging.version import Version

from dashboard.alerts.services import triage
from dashboard.catalog.core.versions import build_order
from dashboard.comparisons.selectors.measured_builds import (
    builds_by_version,
    labels_newest_first,
    measured_builds,
)
from dashboard.home.selectors.change_map import night_map
from dashboard.models import Job, Series, Worker
from dashboard.results.selectors import rollup
from dashboard.results.services import newest
from dashboard.results.services.ingest import ingest
from dashboard.runs.services.partitions import ensure_partitions
from tests.builders import site
from tests.builders.api import Caller, token
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
FIRST = datetime(2026, 11, 1, 3, tzinfo=UTC)
BUILDS = ["2.9.1", "2.11.0", "2.13.0+cpu", "2.15.0", "2.16.0.dev20261101"]
BENCHMARKS = {site.MLP: "toy", site.GPT2: "llm"}
FIGURES = ("latency_ms", "speedup")


class Measured(NamedTuple):
    """One job of a history, in the order in which they ran. value: None where it failed."""

    benchmark: str
    build: str
    value: float | None


class Answer(NamedTuple):
    """Answer of some place on a case: its build, and its number; None where it failed."""

    build: str
    value: float | None


def measure(worker: Worker, each: Measured, hour: int) -> Job:
    job = site.queued_job(
        build=site.build(each.build).label, benchmarks=[each.benchmark], configs=("inductor",)
    )
    at = FIRST + timedelta(hours=hour)
    ensure_partitions(moments=[at])
    Job.objects.filter(pk=job.pk).update(planned_at=at)
    job = site.claim(job, worker)
    values = {} if each.value is None else dict.fromkeys(FIGURES, each.value)
    status = "oom" if each.value is None else "pass"
    result = site.result(job, values, status=status)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result, status))
    return job


def history(seed: int) -> list[Measured]:
    """Some builds, each some times, in any order; the last job is never of the newest."""
    rng = random.Random(seed)
    jobs = []
    for benchmark in BENCHMARKS:
        for build in rng.sample(BUILDS, 3):
            for _ in range(rng.randint(1, 3)):
                value = None if rng.random() < 0.15 else rng.uniform(1, 3)
                jobs.append(Measured(benchmark, build, value))
    rng.shuffle(jobs)
    return sorted(jobs, key=lambda job: -BUILDS.index(job.build) if rng.random() < 0.5 else 0)


def expected(jobs: list[Measured], benchmark: str) -> Answer:
    of_case = [job for job in jobs if job.benchmark == benchmark]
    build = max((job.build for job in of_case), key=Version)
    values = [job.value for job in of_case if job.build == build]
    if values[-1] is None:
        return Answer(build, None)
    logs = [math.log(value) for value in values if value is not None]
    return Answer(build, math.exp(math.fsum(logs) / len(logs)))


def in_api(benchmark: str) -> Answer:
    (row,) = Caller(token("read")).get("series", benchmark=benchmark, metric="latency_ms")[
        "results"
    ]
    return Answer(row["build"], row["value"])


def in_matrix(reader: Client, benchmark: str) -> Answer:
    rows = reader.get("/benchmarks/export.json?metric=latency_ms").json()
    (row,) = [row for row in rows if row["benchmark"] == benchmark]
    return Answer(row["build"], row["value"])


def on_series_page(reader: Client, benchmark: str) -> Answer:
    (answer,) = reader.get(f"/series/{benchmark}/?metric=latency_ms").context["parts"][0].answers
    series = answer.summary.series
    return Answer(
        series.newest_build.label, series.newest_value if series.newest_status == "pass" else None
    )


def on_badge(reader: Client, benchmark: str) -> Answer:
    drawn = reader.get(f"/badge/{benchmark}/inductor.svg?metric=latency_ms&label=x").content
    words = ElementTree.fromstring(drawn.decode()).attrib["aria-label"]
    value = re.search(r"([\d.]+) ms", words)
    return Answer(words.partition(" on ")[2], float(value[1]) if value else None)


def on_map(benchmark: str) -> Answer:
    """Of the newest build on which it passed."""
    (place,) = rollup.series_locations()
    shown = night_map(place, measured_builds(), ())
    assert shown
    [row] = [row for row in shown.rows if row.case == benchmark]
    measured_on = [
        Answer(column.label, level)
        for column, level in zip(shown.columns, row.levels, strict=True)
        if level is not None
    ]
    return measured_on[-1]


def short(answer: Answer) -> Answer:
    return answer._replace(build=answer.build.removesuffix("+cpu"))


@pytest.mark.parametrize("seed", range(4))
def test_every_place_names_the_same_build_and_number(reader: Client, seed: int) -> None:
    jobs, worker = history(seed), site.worker()
    for hour, each in enumerate(jobs):
        measure(worker, each, hour)
    for benchmark in BENCHMARKS:
        build, value = answer = expected(jobs, benchmark)
        number = value if value is None else pytest.approx(value)
        assert in_api(benchmark) == (build, number)
        assert in_matrix(reader, benchmark) == (build, number)
        assert on_series_page(reader, benchmark) == (build, number)
        rounded = (
            value if value is None else pytest.approx(value, rel=0.05)
        )  # a badge has two digits or more
        assert on_badge(reader, benchmark) == (short(answer).build, rounded)
        if value is not None:
            assert on_map(benchmark).build == build
            assert on_map(benchmark).value == pytest.approx(value, rel=0.01)


def rolled_up() -> list[tuple[object, ...]]:
    fields = [field.attname for field in Series._meta.concrete_fields]
    return list(Series.objects.order_by("pk").values_list(*fields))


@pytest.mark.parametrize("seed", range(2))
def test_newest_builds_chosen_again_are_those_kept_at_ingest(seed: int) -> None:
    worker = site.worker()
    for hour, each in enumerate(history(seed)):
        measure(worker, each, hour)
    kept = rolled_up()
    newest.roll_up(series=Series.objects.values_list("pk", flat=True))
    assert rolled_up() == kept


def test_invalid_point_of_the_newest_build_leaves_the_one_before() -> None:
    worker = site.worker()
    measure(worker, Measured(site.MLP, "2.11.0", 2.0), 0)
    wrong = measure(worker, Measured(site.MLP, "2.15.0", 9.0), 1)
    series = Series.objects.get(metric="latency_ms")
    point = triage.mark_invalid(series=series, job=wrong, reason="noisy", by=None)
    series.refresh_from_db()
    assert (str(series.newest_build), series.newest_value) == ("2.11.0", 2.0)
    triage.bring_back(point=point)
    series.refresh_from_db()
    assert (str(series.newest_build), series.previous_value) == ("2.15.0", 2.0)


def test_case_without_the_newest_build_shows_an_older_one_by_name(reader: Client) -> None:
    worker = site.worker()
    measure(worker, Measured(site.GPT2, "2.15.0", 2.0), 0)
    measure(worker, Measured(site.MLP, "2.11.0", 3.0), 1)
    page = text(reader, "/benchmarks/?configs=all")
    assert "3.00× <small>2.11.0</small>" in page
    assert "not measured on 2.15.0; " in page
    assert "not measured on 2.15.0" in text(reader, f"/series/{site.MLP}/")


def test_geomean_is_over_the_cases_of_one_build(reader: Client) -> None:
    worker = site.worker()
    measure(worker, Measured(site.GPT2, "2.15.0", 2.0), 0)
    measure(worker, Measured(site.GPT2_STANDARD, "2.11.0", 8.0), 1)
    page = text(reader, "/benchmarks/?configs=all")
    assert "2.00× <small>2.15.0, 1 case</small>" in page


def in_build_order(builds: list[tuple[str, bool, datetime]]) -> list[tuple[str, bool, datetime]]:
    """These builds, each a label, whether the track stands at it, and its first run."""
    return sorted(
        builds, key=lambda build: build_order(build[0], build[0].partition("~")[0], *build[1:])
    )


def test_change_is_held_against_a_build_of_the_same_variant() -> None:
    worker = site.worker()
    for hour, build in enumerate(("2.11.0", "2.11.0~scalar", "2.15.0~scalar", "2.15.0")):
        measure(worker, Measured(site.MLP, build, 2.0 + hour), hour)
    kept = rolled_up()
    series = Series.objects.get(metric="latency_ms")
    assert (str(series.newest_build), series.previous_value) == ("2.15.0", 2.0)
    newest.roll_up(series=Series.objects.values_list("pk", flat=True))
    assert rolled_up() == kept


def test_lists_of_builds_have_the_plain_one_before_its_variant() -> None:
    worker = site.worker()
    for hour, build in enumerate(("2.15.0", "2.15.0~scalar")):
        measure(worker, Measured(site.MLP, build, 2.0), hour)
    measured = measured_builds()
    builds = builds_by_version(measured, measured[0].machine_key, "")
    assert [build.label for build in builds] == ["2.15.0", "2.15.0~scalar"]
    assert labels_newest_first(measured) == ["2.15.0", "2.15.0~scalar"]


def test_builds_of_one_version_go_by_the_track_then_by_their_first_run() -> None:
    later = FIRST + timedelta(days=1)
    commits = [
        ("2.16.0a0+gitfff~scalar", False, later),
        ("2.16.0a0+gitfff", False, FIRST),
        ("2.16.0a0+gitaaa", False, later),
        ("2.16.0a0+gitbbb~scalar", True, FIRST),
        ("2.16.0", False, FIRST),
    ]
    assert in_build_order(commits) == commits


def test_digits_of_a_commit_are_no_version() -> None:
    later = FIRST + timedelta(days=1)
    commits = [("9999999", False, FIRST), ("1a23456", False, later)]
    assert in_build_order(commits) == commits
