"""Every page with data and without, for people with and without permission."""

import csv
import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Job, JobState, Result, Run, Samples, TorchBuild, Track
from dashboard.runs.selectors import runs
from dashboard.runs.services.schedules import ensure_nightly
from tests.builders import pages, site
from tests.builders.committed_data import ShareData
from tests.builders.pages import PLAIN_PAGES
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]


@pytest.fixture(scope="module")
def busy_site(share: ShareData) -> Run:
    run: Run = share(pages.busy_site)
    return run


def full_job() -> Job:
    return Job.objects.select_related("benchmark").get(result__isnull=False)


# --- An empty site
@pytest.mark.parametrize("url", PLAIN_PAGES)
def test_page_of_an_empty_site_opens(reader: Client, url: str) -> None:
    assert "Compilewatch" in text(reader, url)


def test_empty_home_says_where_to_press(operator: Client) -> None:
    shown = text(operator, "/")
    assert "No result has come in yet" in shown
    assert 'href="/admin/dashboard/run/add/"' in shown


def test_empty_home_says_when_a_schedule_runs(reader: Client) -> None:
    site.worker()
    build = TorchBuild.objects.create(label="2.11.0", version="2.11.0")
    track = Track.objects.create(key="stable", kind=Track.Kind.PINNED, build=build)
    ensure_nightly(machine=site.machine(), track=track)
    assert "runs by itself: Every day at" in text(reader, "/")


def test_home_of_a_first_run_points_to_it(reader: Client) -> None:
    run = site.run()
    assert f'href="/runs/{run.pk}/"' in text(reader, "/")


def test_benchmark_that_was_not_measured_says_so(reader: Client) -> None:
    site.run()
    assert "not measured yet" in text(reader, f"/series/{site.MLP}/")


# --- Each page with data, in few queries
@pytest.mark.parametrize(
    "url",
    [*PLAIN_PAGES[1:], "/benchmarks/?family=llm&status=failed", "/runs/?state=completed&page=2"],
)
def test_page_needs_eleven_queries_at_most(
    busy_site: Run, reader: Client, url: str, django_assert_max_num_queries: MaxQueries
) -> None:
    """One of them asks for the reader's role."""
    with django_assert_max_num_queries(11):
        text(reader, url)


def test_home_needs_twenty_two_queries_at_most(
    busy_site: Run, reader: Client, django_assert_max_num_queries: MaxQueries
) -> None:
    with django_assert_max_num_queries(22):
        text(reader, "/")


def test_pages_of_one_thing_need_eleven_queries_at_most(
    busy_site: Run, reader: Client, django_assert_max_num_queries: MaxQueries
) -> None:
    job = full_job()
    for url in (
        f"/runs/{busy_site.pk}/",
        f"/jobs/{job.pk}/",
        f"/series/{job.benchmark}/data.json",
    ):
        with django_assert_max_num_queries(11):
            text(reader, url)
    with django_assert_max_num_queries(17):  # six for the table of its configs
        text(reader, f"/series/{job.benchmark}/")


def test_job_whose_case_was_compiled_ahead_says_so(busy_site: Run, reader: Client) -> None:
    job, note = full_job(), "ahead of the job, next to other cases"
    assert note not in text(reader, f"/jobs/{job.pk}/")
    Result.objects.filter(job=job).update(
        document=job.result.document | {"starts": {"ahead": {"status": "pass"}}}
    )
    assert note in text(reader, f"/jobs/{job.pk}/")


def test_home_shows_models_runs_and_what_needs_attention(busy_site: Run, reader: Client) -> None:
    shown = text(reader, "/")
    for part in ('class="map nights"', "Running now", "No sign of life: worker gone."):
        assert part in shown


def test_active_runs_refresh_without_the_rest_of_the_page(busy_site: Run, reader: Client) -> None:
    shown = text(reader, "/active-runs/")
    assert "Run now: llm" in shown
    assert "<html" not in shown


def test_matrix_shows_a_failure_as_its_status_word(busy_site: Run, reader: Client) -> None:
    failing = pages.fail_newest("oom")
    shown = text(reader, "/benchmarks/?status=oom")
    assert f'href="/series/{failing.benchmark}/?' in shown
    assert ">out of memory<" in shown


def test_matrix_with_a_filter_that_fits_nothing_says_how_to_go_on(
    busy_site: Run, reader: Client
) -> None:
    assert "Show all of them" in text(reader, "/benchmarks/?status=eager_two_runs_differ")


def test_unknown_machine_in_the_address_is_named(busy_site: Run, reader: Client) -> None:
    response = reader.get("/benchmarks/?machine=nowhere")
    assert response.status_code == 404
    assert "“nowhere”" in page_text(response)


# --- Series
def test_series_page_lists_what_the_chart_shows(busy_site: Run, reader: Client) -> None:
    shown = text(reader, f"/series/{full_job().benchmark}/?config=eager&metric=latency_ms")
    assert "All 12, newest first" in shown
    assert 'data-figure="/series/' in shown


def test_figure_has_the_chosen_configs_alone(busy_site: Run, reader: Client) -> None:
    figure = reader.get(
        f"/series/{full_job().benchmark}/data.json?config=eager&config=regional"
    ).json()
    assert {trace["name"] for trace in figure["data"] if trace["meta"]["role"] == "line"} == {
        "eager",
        "regional",
    }


def test_csv_has_every_datum(busy_site: Run, reader: Client) -> None:
    response = reader.get(f"/series/{full_job().benchmark}/export.csv?config=eager")
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert len(rows) == 12
    assert set(rows[0]) == {
        "at",
        "config",
        "build",
        "purpose",
        "status",
        "value",
        "low",
        "high",
        "job",
    }


def test_json_export_says_unit_and_direction(busy_site: Run, reader: Client) -> None:
    exported = reader.get(f"/series/{full_job().benchmark}/export.json?metric=speedup").json()
    assert exported["metric"] == "speedup"
    assert exported["unit"] == "×"
    assert not exported["lower_is_better"]


def test_failed_case_is_in_the_trend_of_every_metric(busy_site: Run, reader: Client) -> None:
    failing = pages.fail_newest("oom")
    figure = reader.get(
        f"/series/{failing.benchmark}/data.json?metric=speedup&config={failing.config}"
    ).json()
    assert any(
        "oom" in words
        for trace in figure["data"]
        if trace["meta"]["role"] == "failure"
        for words in trace["text"]
    )


def test_unknown_benchmark_is_not_found(reader: Client) -> None:
    assert reader.get("/series/no.such.thing/").status_code == 404


# --- Runs and jobs
def test_run_at_work_asks_for_itself_again(busy_site: Run, reader: Client) -> None:
    assert 'hx-trigger="every 3s"' in text(reader, f"/runs/{busy_site.pk}/")


def test_run_that_has_ended_does_not_poll(busy_site: Run, reader: Client) -> None:
    ended = Run.objects.filter(state="completed").latest("created_at")
    assert 'hx-trigger="every' not in text(reader, f"/runs/{ended.pk}/")


def test_htmx_gets_the_live_part_of_a_run_alone(busy_site: Run, reader: Client) -> None:
    shown = page_text(reader.get(f"/runs/{busy_site.pk}/", headers={"HX-Request": "true"}))
    assert shown.lstrip().startswith('<div id="live"')


def test_failures_come_first(busy_site: Run, reader: Client) -> None:
    jobs = reader.get(f"/runs/{busy_site.pk}/").context["jobs"]
    assert [job.state for job in jobs[:3]] == [JobState.DONE, JobState.TIMED_OUT, JobState.RUNNING]


def test_jobs_of_a_run_come_by_the_page(
    busy_site: Run, reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/runs/{busy_site.pk}/"
    everything = [job.pk for job in reader.get(address).context["jobs"]]
    monkeypatch.setattr("dashboard.runs.pages.runs._JOBS_SIZE", 2)
    second = reader.get(address, {"page": 2})
    assert [job.pk for job in second.context["jobs"]] == everything[2:4]
    assert second.context["counts"].total == len(everything)


def test_time_left_of_a_run_is_that_of_its_jobs(busy_site: Run, reader: Client) -> None:
    now = timezone.now()
    jobs, expected = list(busy_site.jobs.all()), runs.expected_seconds(busy_site)
    workers = runs.workers_alive(busy_site.machine_id, now)
    left = runs.seconds_left(jobs, expected, workers, now)
    assert runs.progress(busy_site, now).seconds_left == pytest.approx(left)


def test_run_says_how_long_it_will_take(busy_site: Run, reader: Client) -> None:
    assert 0 < reader.get(f"/runs/{busy_site.pk}/").context["seconds_left"] < 600


def test_job_page_shows_everything_in_the_result(busy_site: Run, reader: Client) -> None:
    shown = text(reader, f"/jobs/{full_job().pk}/")
    document = pages.result_document()
    parts = (
        "CPU busy with other work",
        "call to warnings.warn",
        "modeling_gpt2.py:812",
        "size mismatch",
        "needs 1,000 single",
        "triton_<wbr>poi_<wbr>fused_<wbr>cat_7",
        "1.171 to 1.197×",
        document["reproduce"],
        "transformers",
        document["accuracy"]["reference"],
    )
    for part in parts:
        assert part in shown


@pytest.mark.parametrize("figure", ["distribution", "order"])
def test_samples_of_both_arms_are_drawn(
    busy_site: Run,
    reader: Client,
    figure: str,
) -> None:
    drawn = reader.get(f"/jobs/{full_job().pk}/samples/{figure}.json").json()
    assert [trace["name"] for trace in drawn["data"]] == ["eager", "compiled"]


def test_samples_that_are_no_longer_kept_are_not_found(busy_site: Run, reader: Client) -> None:
    job = Job.objects.exclude(pk__in=Samples.objects.values("job")).first()
    assert job
    assert reader.get(f"/jobs/{job.pk}/samples/order.json").status_code == 404


def test_job_without_a_result_shows_the_job_file_that_repeats_it(reader: Client) -> None:
    shown = text(reader, f"/jobs/{site.queued_job().pk}/")
    assert "python -m benchmarks_suite run job.json result.json" in shown
    assert "waits for a worker" in shown


def test_job_that_has_ended_makes_its_open_page_load_the_result(
    busy_site: Run, reader: Client
) -> None:
    response = reader.get(f"/jobs/{full_job().pk}/", headers={"HX-Request": "true"})
    assert response.headers["HX-Refresh"] == "true"


def test_an_unknown_job_is_not_found(reader: Client) -> None:
    assert "There is no job" in page_text(reader.get(f"/jobs/{uuid4()}/"))


# --- Every page
def test_pages_carry_no_inline_script_or_style(busy_site: Run, operator: Client) -> None:
    job = full_job()
    for url in (
        *PLAIN_PAGES,
        f"/runs/{busy_site.pk}/",
        f"/jobs/{job.pk}/",
        f"/series/{job.benchmark}/",
    ):
        shown = text(operator, url)
        assert " style=" not in shown
        assert "<style" not in shown
        assert "<script>" not in shown


def test_link_in_a_chat_shows_what_the_page_says(busy_site: Run, reader: Client) -> None:
    shown = text(reader, f"/series/{full_job().benchmark}/?config=inductor")
    assert f'<meta property="og:title" content="Latency of {full_job().benchmark}">' in shown
    assert '<meta property="og:description" content="inductor: ' in shown
