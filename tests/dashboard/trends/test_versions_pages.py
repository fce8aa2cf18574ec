"""Compare, versions and the upgrade report: what they say from stored data, and that they are sent
safely.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db.models import F
from django.test import Client

from dashboard.alerts.services import triage
from dashboard.catalog.services.builds import add_variant
from dashboard.comparisons.core.levels import Level
from dashboard.language.exports import csv_text
from dashboard.language.metrics import METRICS
from dashboard.models import BuildLevel, Job, Machine, Run, RunState, Series, TorchBuild, Track
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.core.release_lines import Release, ReleaseLine, short_names
from dashboard.ui.charts import SLOTS
from tests.builders import pages, releases
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


@pytest.fixture(scope="module")
def two_releases(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """2.11 and 2.13 on one GPU, imported; made once for this file."""
    with django_db_blocker.unblock():
        releases.import_two_releases()
    yield
    with django_db_blocker.unblock():
        pages.remove()


# --- Empty
@pytest.mark.parametrize("url", ["/compare/", "/versions/", "/comparisons/"])
def test_page_of_an_empty_site_says_how_to_begin(reader: Client, url: str) -> None:
    page = text(reader, url)
    assert "manage.py compare_builds" in page


# --- Compare
def test_page_answers_2_11_or_2_13_with_a_word_and_a_sentence(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, COMPARE)
    assert "Not yet" in shown
    assert "2 cases that passed now fail: captioning" in shown


def test_page_links_to_the_commits_and_to_the_two_jobs_of_a_case(
    two_releases: None, reader: Client
) -> None:
    TorchBuild.objects.filter(variant={}).update(git_sha=F("version"))
    page = page_text(reader.get(COMPARE))
    assert "https://github.com/pytorch/pytorch/compare/2.11.0+cu130...2.13.0+cu130" in page
    pair = re.search(r"/jobs/pair/\?job=[0-9a-f-]{36}&amp;job=[0-9a-f-]{36}", page)
    assert pair
    assert "Two jobs" in page_text(reader.get(pair[0].replace("&amp;", "&")))


@pytest.mark.parametrize(
    ("model", "word", "words"),
    [
        ("gpt2", "Yes, at a cost", "faster"),
        ("llama", "Yes", "eager steps are 4"),
        ("resnet50", "It makes no difference", "unchanged"),
        ("sd_unet", "No", "slower"),
    ],
)
def test_every_model_has_its_own_answer(
    two_releases: None, reader: Client, model: str, word: str, words: str
) -> None:
    exported = reader.get(COMPARE.replace("/?", "/export.json?")).json()
    answer = exported["models"][model]
    assert answer["answer"] == word
    assert words in answer["sentence"]


def test_version_names_a_build_and_the_two_newest_are_the_default(
    two_releases: None, reader: Client
) -> None:
    assert text(reader, COMPARE).count("2.11.0+cu130") > 1
    page = text(reader, "/compare/")
    assert "2.11.0+cu130 <span" in page


def test_variant_is_compared_only_where_it_is_named(two_releases: None, reader: Client) -> None:
    variant = add_variant(
        base=TorchBuild.objects.get(label=releases.NEW),
        name="tuned",
        inductor={"max_autotune": True},
    )
    track, machine = Track.objects.get(key="import"), Machine.objects.get(key=releases.MACHINE)
    Run.objects.create(build=variant, track=track, machine=machine, state=RunState.COMPLETED)
    assert sides(reader, "/compare/") == [releases.BASE, releases.NEW]
    assert sides(reader, f"/compare/?new={quote(variant.label)}") == [releases.BASE, variant.label]
    assert sides(reader, "/compare/?new=2.13.0") == [releases.BASE, releases.NEW]


def sides(reader: Client, address: str) -> list[str]:
    choice = reader.get(address).context["choice"]
    return [choice.base.tested.label, choice.new.tested.label]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?base=2.11.0&new=9.9&machine=h100", "“9.9” was not measured on h100"),
        ("?machine=nowhere", "Nothing was measured on a machine “nowhere”"),
        ("?config=none&machine=h100", "There is no config “none”"),
        ("?track=none&machine=h100", "for a track “none”"),
    ],
)
def test_error_names_what_was_not_measured(
    two_releases: None, reader: Client, query: str, words: str
) -> None:
    response = reader.get(f"/compare/{query}")
    assert response.status_code == 404
    assert words in page_text(response)


@pytest.mark.parametrize(
    "url",
    [COMPARE, f"{COMPARE}&metric=cold_start_s", "/versions/?machine=h100", "/comparisons/"],
)
def test_pages_need_ten_queries_at_most(
    two_releases: None, reader: Client, django_assert_max_num_queries: MaxQueries, url: str
) -> None:
    with django_assert_max_num_queries(10):
        text(reader, url)


def test_answer_names_the_cases_that_changed_for_certain(
    two_releases: None, reader: Client
) -> None:
    page = text(reader, COMPARE)
    answer = page.partition('aria-label="The answer"')[2].partition("</section>")[0]
    changed = r"For certain: <a .*?sd_.*?unet.* in inductor, .*% slower \(.*more</a>\."
    assert re.search(changed, answer)


def test_filter_for_significant_excludes_the_unchanged(two_releases: None, reader: Client) -> None:
    shown = text(reader, COMPARE + "&show=significant")
    assert 'metric=latency_ms&amp;axis=release" >vit_<wbr>b16' in shown
    assert 'metric=latency_ms&amp;axis=release">resnet50' not in shown


def test_filter_without_a_match_says_so(two_releases: None, reader: Client) -> None:
    page = text(reader, COMPARE + "&model=resnet50&show=worse")
    assert "No case fits these filters" in page


def test_two_configs_of_one_build_are_compared_benchmark_by_benchmark(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, "/compare/?base=2.13.0&machine=h100&config=eager&new_config=inductor")
    assert "eager → inductor" in shown
    assert "50" in shown


def test_two_machines_are_compared_on_the_same_build(two_releases: None, reader: Client) -> None:
    releases.import_two_releases(models=["gpt2"], machine="h200", seed=2)
    shown = text(reader, "/compare/?base=2.13.0&machine=h100&new_machine=h200")
    assert "h100 <span" in shown
    assert "PyTorch 2.13.0+cu130" in shown


# --- What is sent
def test_csv_has_every_case_and_metric_and_what_was_left_out(
    two_releases: None, reader: Client
) -> None:
    response = reader.get(COMPARE.replace("/?", "/export.csv?"))
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert {row["metric"] for row in rows} == {
        "latency_ms",
        "cold_start_s",
        "peak_memory_gb",
        "drift",
    }
    case = {"mode": "training", "config": "inductor", "metric": "latency_ms"}
    [unet] = [
        row
        for row in rows
        if row["benchmark"].startswith("sd_unet") and case.items() <= row.items()
    ]
    assert float(unet["low_percent"]) < 5 < float(unet["high_percent"]) + 0.5
    assert any(row["left_out"].startswith("failed: fail_to_compile") for row in rows)


def test_no_cell_of_the_csv_becomes_a_formula(reader: Client) -> None:
    assert csv_text(["a"], [["=1+1"], ["@x"], [-1.5]]) == "a\r\n'=1+1\r\n'@x\r\n-1.5\r\n"


def test_markdown_is_a_report_for_a_pull_request(two_releases: None, reader: Client) -> None:
    response = reader.get(COMPARE.replace("/?", "/export.md?"))
    shown = response.content.decode()
    assert shown.startswith("# Move from 2.11.0+cu130 to 2.13.0+cu130? On h100\n\n**Not yet.** ")
    assert "| gpt2 | Yes, at a cost |" in shown
    assert "/compare/?base=2.11.0" in shown


# --- Versions
def test_matrix_compares_each_case_with_the_base_release(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, "/versions/?machine=h100")
    assert "faster" in shown
    assert "fail_to_compile" in shown


def test_figure_has_a_line_with_intervals_for_each_config(
    two_releases: None, reader: Client
) -> None:
    name = "gpt2.standard.training.bfloat16.static.b16"
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={name}").json()
    lines = {trace["name"]: trace for trace in figure["data"]}
    assert lines["inductor"]["x"] == [releases.BASE, releases.NEW]
    assert all(reach > 0 for reach in lines["inductor"]["error_y"]["array"])


def test_failed_release_is_in_the_lane_below(two_releases: None, reader: Client) -> None:
    name = "captioning.standard.training.bfloat16.static.b16"
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={name}").json()
    [failed] = [trace for trace in figure["data"] if trace["meta"]["role"] == "failure"]
    assert failed["x"] == [releases.NEW]
    assert failed["text"] == ["fail_to_compile"]


def test_versions_export_has_every_case_on_every_build(two_releases: None, reader: Client) -> None:
    exported = reader.get("/versions/export.csv?machine=h100").text
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert len(rows) == 6 * 2 * 2 * 2


# --- Series by release
GPT2 = "gpt2.standard.training.bfloat16.static.b16"


def test_series_by_release_has_the_chosen_configs_alone(two_releases: None, reader: Client) -> None:
    figure = reader.get(f"/series/{GPT2}/data.json?axis=release&config=inductor").json()
    assert [trace["name"] for trace in figure["data"]] == ["inductor"]
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, releases.NEW]


def test_build_comes_before_its_variants(two_releases: None, reader: Client) -> None:
    variant = add_variant(
        base=TorchBuild.objects.get(label=releases.BASE),
        name="tuned",
        inductor={"max_autotune": True},
    )
    for model in (Run, BuildLevel):
        model.objects.filter(build__label=releases.NEW).update(build=variant)
    figure = reader.get(f"/series/{GPT2}/data.json?axis=release&config=inductor").json()
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, variant.label]
    assert figure["layout"]["xaxis"]["ticktext"] == ["2.11.0", "2.11.0<br>~tuned"]
    # No line leads to a variant
    assert [trace["mode"] for trace in figure["data"]] == ["lines+markers", "markers"]
    assert [trace["marker"]["symbol"] for trace in figure["data"]] == ["circle", "circle-open"]


def test_matrix_has_variants_last_and_the_chart_only_measured_ones(
    two_releases: None, reader: Client
) -> None:
    base = TorchBuild.objects.get(label=releases.BASE)
    variant = add_variant(base=base, name="tuned", inductor={"max_autotune": True})
    run = Run.objects.filter(build=base).first()
    assert run is not None
    Run.objects.create(
        build=variant, machine=run.machine, track=run.track, state=RunState.COMPLETED
    )
    page = page_text(reader.get("/versions/?machine=h100"))
    assert re.findall(r"<th scope=\"col\"><[^>]*title=\"([^\"]+)", page) == [
        releases.BASE,
        releases.NEW,
        variant.label,
    ]
    figure = reader.get(f"/versions/data.json?machine=h100&benchmark={GPT2}").json()
    assert figure["layout"]["xaxis"]["categoryarray"] == [releases.BASE, releases.NEW]


def test_matrix_compares_with_a_plain_build_even_if_a_variant_came_first(
    two_releases: None, reader: Client
) -> None:
    base = TorchBuild.objects.get(label=releases.BASE)
    run = Run.objects.filter(build=base).first()
    assert run is not None
    variant = add_variant(base=base, name="tuned", inductor={"max_autotune": True})
    earlier = Run.objects.create(
        build=variant, machine=run.machine, track=run.track, state=RunState.COMPLETED
    )
    Run.objects.filter(pk=earlier.pk).update(created_at=run.created_at - timedelta(days=1))
    assert reader.get("/versions/?machine=h100").context["selection"].base.label == releases.BASE


def test_builds_keep_whole_names_where_short_ones_collide() -> None:
    alike = ["2.13.0+cu130~tuned-1a2b3c4d", "2.13.0+cu130~tuned-5e6f7a8b"]
    assert list(short_names(alike).values()) == alike
    assert short_names(["2.13.0+cpu", "2.13.0+cu130"]) == {
        "2.13.0+cpu": "2.13.0+cpu",
        "2.13.0+cu130": "2.13.0+cu130",
    }


def test_configs_of_one_colour_have_markers_of_their_own() -> None:
    release = Release("2.13.0", Level(2, 0.0, 0.01, 0.001))
    count = 3 * SLOTS
    lines = [ReleaseLine(f"config {position}", position, [release]) for position in range(count)]
    traces = release_figure(lines, METRICS["latency_ms"], ["2.13.0"])["data"]
    looks = {(trace["meta"]["slot"], trace["marker"]["symbol"]) for trace in traces}
    assert len(looks) == count


@pytest.mark.parametrize(
    ("passed", "notes"), [([], ["No number: each of its jobs failed."]), (["2.11.0"], [])]
)
def test_chart_without_a_number_says_why(passed: list[str], notes: list[str]) -> None:
    measured = [Release(build, Level(2, 0.0, 0.01, 0.001)) for build in passed]
    line = ReleaseLine("inductor", 1, [*measured, Release("2.13.0", None, status="fail_to_run")])
    layout = release_figure([line], METRICS["latency_ms"], ["2.11.0", "2.13.0"])["layout"]
    assert [each["text"] for each in layout.get("annotations", [])] == notes


def test_series_page_keeps_its_axis_in_the_address(two_releases: None, reader: Client) -> None:
    shown = text(reader, f"/series/{GPT2}/?axis=release")
    assert '<option value="release" selected>' in shown
    assert "axis=release" in shown.partition("data-figure=")[2][:200]


# --- Kept answers
def test_answer_is_kept_only_while_the_data_are_the_same(
    two_releases: None, reader: Client
) -> None:
    address = COMPARE.replace("/?", "/export.csv?")
    before = reader.get(address).content
    assert reader.get(address).content == before
    job = Job.objects.filter(
        run__build__label=releases.NEW, benchmark__model="llama", config__name="eager"
    ).first()
    assert job is not None
    series = Series.objects.get(data__job=job, metric="latency_ms")
    triage.mark_invalid(series=series, job=job, reason="a fan had failed", by=None)
    assert reader.get(address).content != before
