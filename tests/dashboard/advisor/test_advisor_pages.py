"""The advisor's pages: on results as a worker sends them."""

import csv
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from dashboard.advisor.selectors.advice import advised_builds, device_memory_gb, read_options
from dashboard.models import Job
from dashboard.results.services.ingest import ingest
from tests.builders import kernels, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ADVISOR = f"/advisor/{site.MLP}/"
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


def test_empty_site_says_what_advice_needs(reader: Client) -> None:
    page = reader.get("/advisor/").text
    assert "Nothing was measured yet" in page


def test_benchmark_without_numbers_says_what_advice_needs(reader: Client) -> None:
    site.worker()
    page = reader.get(ADVISOR).text
    assert "This benchmark was not measured yet" in page


def test_unknown_benchmark_is_not_found(reader: Client) -> None:
    assert reader.get("/advisor/nothing/").status_code == 404


@pytest.mark.usefixtures("measured")
def test_page_says_below_how_many_steps_to_stay_in_eager(reader: Client) -> None:
    page = reader.get(ADVISOR).text
    assert "Below 1,000 steps stay in eager; above, use inductor." in page


@pytest.mark.usefixtures("measured")
def test_list_has_config_break_even_and_gain_and_links_to_the_page(reader: Client) -> None:
    page = text(reader, "/advisor/")
    assert "<b>inductor</b>" in page
    assert "1,000" in page
    assert "50.0%" in page
    assert f'href="/advisor/{site.MLP}/?machine=cpu-2c"' in page


def test_list_has_the_intervals_of_each_benchmarks_own_page(measured: None, reader: Client) -> None:
    job = site.running_job(site.worker("late"), benchmarks=[site.GPT2], configs=("inductor",))
    ingest_result(job, site.result(job, FAST))
    for row in reader.get("/advisor/").context["rows"]:
        page = reader.get(f"/advisor/{row.benchmark}/")
        assert page.context["advice"].ranges[-1].from_steps == row.break_even


@pytest.mark.usefixtures("measured")
def test_list_names_apart_what_was_measured_without_a_start(reader: Client) -> None:
    page = text(reader, "/advisor/?start=warm")
    assert "not enough to advise on a warm start" in page
    assert "1 without advice on this build" in page
    assert "no warm start was measured" in page


@pytest.mark.usefixtures("measured")
def test_device_memory_is_in_both_units(reader: Client) -> None:
    assert "The device has 23.4 GB (21.8 GiB)." in text(reader, ADVISOR)


@pytest.mark.usefixtures("measured")
def test_page_answers_for_a_number_of_steps_and_for_a_time(reader: Client) -> None:
    page = reader.get(f"{ADVISOR}?steps=10000&hours=1").text
    assert "inductor, done in 11 s" in page
    assert "1 h: inductor does" in page


@pytest.mark.usefixtures("measured")
def test_memory_limit_of_the_address_is_respected(reader: Client) -> None:
    page = reader.get(f"{ADVISOR}?memory_gb=2").text
    assert "it needs 3 GB, and 2 GB are allowed" in page


@pytest.mark.parametrize(
    "query", ["steps=many", "steps=-4", "hours=nan", "memory_gb=1e99", "start=lukewarm"]
)
@pytest.mark.usefixtures("measured")
def test_invalid_parameters_change_nothing(reader: Client, query: str) -> None:
    page = reader.get(f"{ADVISOR}?{query}").text
    assert "Below 1,000 steps stay in eager" in page


@pytest.mark.usefixtures("measured")
def test_starts_that_were_not_measured_are_reported_missing(reader: Client) -> None:
    page = reader.get(ADVISOR).text
    assert "Not known: no config has a warm start that was measured." in page


@pytest.mark.usefixtures("measured")
def test_configs_that_only_another_build_was_measured_with_are_reported_missing(
    reader: Client,
) -> None:
    said = "Not measured on this build: regional."
    assert said not in text(reader, ADVISOR)
    store("regional", FAST, build="2.12.0+cpu")
    assert said in text(reader, f"{ADVISOR}?build={quote(site.BUILD)}")
    assert said not in text(reader, f"{ADVISOR}?build={quote('2.12.0+cpu')}")


@pytest.mark.usefixtures("measured")
def test_figure_has_a_line_for_each_config(reader: Client) -> None:
    figure = reader.get(f"{ADVISOR}data.json").json()
    assert {"eager", "inductor"} <= {trace.get("name") for trace in figure["data"]}


@pytest.mark.usefixtures("measured")
def test_export_has_every_config_with_its_break_even(reader: Client) -> None:
    rows = list(csv.DictReader(reader.get(f"{ADVISOR}export.csv").text.splitlines()))
    cold = {row["config"]: float(row["ahead_from_steps"]) for row in rows if row["start"] == "cold"}
    assert cold == pytest.approx({"eager": 1, "inductor": 999})  # (1000 - 1) / (2 - 1)


def test_exports_have_no_number_where_the_page_says_not_known(reader: Client) -> None:
    store("eager", SLOW)
    for start_s in (0.1, 12.0):
        store("inductor", {**FAST, "cold_start_s": start_s})
    assert reader.get(ADVISOR).context["ahead"]["inductor"] == "not known"
    table = csv.DictReader(reader.get(f"{ADVISOR}export.csv").text.splitlines())
    [row] = [row for row in table if (row["config"], row["start"]) == ("inductor", "cold")]
    assert (row["ahead_from"], row["ahead_from_steps"]) == ("not known", "")


@pytest.mark.usefixtures("measured")
def test_newest_build_is_advised_on_unless_another_is_named(reader: Client) -> None:
    store("inductor", FAST | {"cold_start_s": 4.0}, build="2.14.0")
    page = reader.get(ADVISOR).text
    assert "Below 4,000 steps" in page
    older = reader.get(ADVISOR, {"build": site.BUILD}).text
    assert "Below 1,000 steps" in older


@pytest.mark.usefixtures("measured")
def test_builds_are_never_mixed(db: None) -> None:
    store("regional", FAST, build="2.14.0")
    newest, before = advised_builds()
    assert newest.label == "2.14.0"
    assert before.label == site.BUILD
    assert [option.config for option in read_options(newest)[site.MLP]] == ["regional"]


def test_failed_config_is_left_out_with_its_status(reader: Client) -> None:
    store("eager", SLOW)
    store("inductor", {}, status="fail_accuracy", message="wrong")
    page = reader.get(ADVISOR).text
    assert "it ended in fail_accuracy" in page


@pytest.mark.usefixtures("measured")
def test_older_version_of_the_benchmark_is_not_used(db: None) -> None:
    job = site.running_job(site.worker("late"), configs=("eager",))
    result = site.result(job, SLOW)
    result["benchmark"]["version"] = 2
    ingest_result(job, result)
    eager, inductor = read_options(advised_builds()[0])[site.MLP]
    assert eager.levels
    assert inductor.failed == "only an older version of the benchmark was measured with it"


@pytest.mark.usefixtures("measured")
def test_device_memory_is_what_the_newest_result_says(db: None) -> None:
    assert device_memory_gb(advised_builds()[0].machine) == 23.4


def test_advisor_opens_on_the_newest_build_that_was_compiled(
    measured: None, reader: Client
) -> None:
    store("eager", SLOW, build="2.99.0")
    assert reader.get("/advisor/").context["where"].label == site.BUILD


def test_page_says_what_a_compiled_step_is_known_to_pay(reader: Client) -> None:
    masked = "triton_per_fused__safe_softmax_add_expand_ge_where_3"
    store("eager", SLOW)
    store("inductor", FAST, profile={"compiled": kernels.section(kernels.row(masked, 1.0))})
    page = text(reader, ADVISOR)
    assert "inductor: compiled, attention runs in no fused kernel" in page
    assert 'href="/docs/attention-mask/"' in page
