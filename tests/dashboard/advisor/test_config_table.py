"""Which config for how many steps: the table on a benchmark's page."""

from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from dashboard.advisor.selectors.advice import advised_builds, read_options
from dashboard.advisor.selectors.advice_page import ConfigTable
from dashboard.comparisons.core.running_costs import Option
from dashboard.models import Benchmark, Job
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
PAGE = f"/series/{site.MLP}/"
SLOW = {"latency_ms": 2.0}
FAST = {
    "latency_ms": 1.0,
    "eager_latency_ms": 2.0,
    "speedup": 2.0,
    "cold_start_s": 1.0,
    "peak_memory_gb": 3.0,
}


def store(
    config: str, values: dict[str, float], /, build: str = site.BUILD, **fields: object
) -> None:
    worker = site.worker(f"w{Job.objects.count()}")
    job = site.running_job(worker, configs=(config,), build=site.build(build).label)
    ingest_result(job, site.result(job, values, **fields))


def ingest_result(job: Job, result: dict[str, Any]) -> None:
    assert job.worker is not None
    ingest(job_id=job.pk, worker=job.worker, body=site.delivery(job, result))


@pytest.fixture
def measured(db: None) -> None:
    """One millisecond saved at each step, for a start of one second."""
    store("eager", SLOW)
    store("inductor", FAST)


def table(reader: Client, query: str = "") -> ConfigTable:
    shown: ConfigTable = reader.get(f"{PAGE}?{query}").context["config_table"]
    return shown


def options() -> list[Option]:
    build = advised_builds()[0]
    benchmark = Benchmark.objects.get(name=site.MLP)
    return read_options(build.machine, [build.build], benchmark)[build.build]


def test_page_says_below_how_many_steps_to_stay_in_eager(measured: None, reader: Client) -> None:
    page = text(reader, PAGE)
    assert "Below 1,000 steps stay in eager; above, use inductor." in page
    assert "Which config for how many steps" in page


def test_shortest_time_for_each_number_of_steps_is_marked(measured: None, reader: Client) -> None:
    best = {}
    for line in table(reader).lines:
        best[line.candidate.config] = [is_best for *_, is_best in line.totals]
    assert best == {"eager": [True, False, False], "inductor": [False, True, True]}


def test_start_that_was_not_measured_leaves_no_choice(measured: None, reader: Client) -> None:
    assert table(reader, "start=warm") is None


def test_unknown_start_is_a_cold_one(measured: None, reader: Client) -> None:
    assert table(reader, "start=lukewarm").start == "cold"


def test_config_that_was_faster_on_another_build_is_named(measured: None, reader: Client) -> None:
    store("regional", FAST | {"speedup": 3.0}, build="2.12.0+cpu")
    [faster] = table(reader, f"build={quote(site.BUILD)}").faster
    assert faster[:2] == ("regional", "2.12.0+cpu")
    assert (faster.speedup, faster.best) == pytest.approx((3.0, 2.0))
    assert "It was not measured on this build" in text(reader, f"{PAGE}?build={quote(site.BUILD)}")


def test_newest_build_is_advised_on_unless_another_is_named(measured: None, reader: Client) -> None:
    store("inductor", FAST | {"cold_start_s": 4.0}, build="2.14.0")
    assert "Below 4,000 steps" in table(reader).sentence
    assert "Below 1,000 steps" in table(reader, f"build={quote(site.BUILD)}").sentence


def test_newest_build_that_leaves_no_choice_is_passed_over(measured: None, reader: Client) -> None:
    store("eager", SLOW, build="2.99.0")
    assert table(reader).build.label == site.BUILD


def test_builds_are_never_mixed(measured: None) -> None:
    store("regional", FAST, build="2.14.0")
    assert [option.config for option in options()] == ["regional"]


def test_older_version_of_the_benchmark_is_not_used(measured: None) -> None:
    job = site.running_job(site.worker("late"), configs=("eager",))
    result = site.result(job, SLOW)
    result["benchmark"]["version"] = 2
    ingest_result(job, result)
    eager, inductor = options()
    assert eager.levels
    assert inductor.failed == "only an older version of the benchmark was measured with it"
