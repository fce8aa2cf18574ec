"""Two builds compared on a page, in a table and in Markdown: what they say from stored data."""

import csv
import html
import io
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client

from dashboard.catalog.services.builds import add_variant
from dashboard.language.exports import csv_text
from dashboard.models import TorchBuild
from tests.builders import releases
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine=h100"


def test_page_answers_2_11_or_2_13_with_a_word_and_a_sentence(
    two_releases: None, reader: Client
) -> None:
    shown = text(reader, COMPARE)
    assert "mixed</a>, certain" in shown
    assert "captioning inference: fails now" in shown


def test_answers_lead_to_what_the_glossary_says_of_them(two_releases: None, reader: Client) -> None:
    shown = reader.get(COMPARE).text
    ids = set(re.findall(r'href="/glossary/#([^"]+)"', shown))
    assert {"verdict", "mixed", "worse", "same"} <= ids
    glossary = reader.get("/glossary/").text
    assert [each for each in ids if f'id="{each}"' not in glossary] == []


def test_page_links_to_the_commits_and_to_the_change_of_a_case(
    two_releases: None, reader: Client
) -> None:
    TorchBuild.objects.filter(variant={}).update(git_sha=F("version"))
    page = page_text(reader.get(COMPARE))
    assert "https://github.com/pytorch/pytorch/compare/2.11.0+cu130...2.13.0+cu130" in page
    change = re.search(r'href="(/change/[^"]*)"', page)
    assert change
    assert "All processes" in page_text(reader.get(html.unescape(change[1])))


@pytest.mark.parametrize(
    ("model", "word", "words"),
    [
        ("gpt2", "mixed, certain", "faster"),
        ("llama", "better, certain", "faster"),
        ("resnet50", "same", "No step is more than"),
        ("sd_unet", "worse, certain", "slower"),
    ],
)
def test_every_model_has_its_own_answer(
    two_releases: None, reader: Client, model: str, word: str, words: str
) -> None:
    exported = reader.get(COMPARE.replace("/?", "/export.json?")).json()
    answer = exported["models"][f"{model} inference"]
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
    releases.add_failed_run(variant)
    assert sides(reader, "/compare/") == [releases.BASE, releases.NEW]
    assert sides(reader, f"/compare/?new={quote(variant.label)}") == [releases.NEW, variant.label]
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
    [COMPARE, f"{COMPARE}&metric=cold_start_s", "/experiments/"],
)
def test_pages_need_eighteen_queries_at_most_and_fourteen_once_their_report_is_kept(
    two_releases: None, reader: Client, django_assert_max_num_queries: MaxQueries, url: str
) -> None:
    cache.clear()  # other tests' reports
    with django_assert_max_num_queries(18):
        text(reader, url)
    with django_assert_max_num_queries(14):
        text(reader, url)


def test_answer_names_models_and_no_ids(two_releases: None, reader: Client) -> None:
    page = text(reader, COMPARE)
    answer = page.partition('aria-label="The answer"')[2].partition("</section>")[0]
    assert "7 more models changed." in answer
    assert ".standard." not in answer


def test_filter_for_changes_excludes_the_unchanged(two_releases: None, reader: Client) -> None:
    shown = text(reader, COMPARE + "&show=changed")
    cases = shown.partition('id="cases"')[2]
    assert "vit_<wbr>b16." in cases
    assert ">resnet50." not in cases


@pytest.mark.parametrize(("repeats", "drawn"), [(3, True), (1, False)])
def test_axis_is_drawn_where_an_interval_is_known(
    repeats: int, drawn: bool, reader: Client
) -> None:
    machine = f"with-{repeats}"  # the other tests' data stay
    releases.import_two_releases(repeats=repeats, machine=machine)
    address = COMPARE.replace("h100", machine)
    shown = reader.get(address).content.decode()
    assert ('class="drawn"' in shown) == drawn


def test_page_links_to_what_counts_towards_a_verdict_where_the_table_has_no_head(
    two_releases: None, reader: Client
) -> None:
    """As on a phone."""
    method = text(reader, COMPARE).partition("How these numbers are made")[2]
    assert 'href="/glossary/#verdict"' in method


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


def test_files_of_a_narrowed_page_have_the_address_of_the_whole_one(
    two_releases: None, reader: Client
) -> None:
    page = text(reader, f"{COMPARE}&model=gpt2&mode=inference&metric=drift&show=changed")
    for form in ("csv", "json", "md"):
        whole = COMPARE.replace("/?", f"/export.{form}?").replace("&", "&amp;")
        assert f'href="{whole}"' in page


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
        "graph_breaks",
    }
    case = {"mode": "training", "config": "inductor", "metric": "latency_ms"}
    [unet] = [
        row
        for row in rows
        if row["benchmark"].startswith("sd_unet") and case.items() <= row.items()
    ]
    assert float(unet["low_percent"]) < 5 < float(unet["high_percent"]) + 0.5
    assert any(row["left_out"].startswith("failed: failed to compile on new") for row in rows)


def test_no_cell_of_the_csv_becomes_a_formula(reader: Client) -> None:
    assert csv_text(["a"], [["=1+1"], ["@x"], [-1.5]]) == "a\r\n'=1+1\r\n'@x\r\n-1.5\r\n"


def test_markdown_is_a_report_for_a_pull_request(two_releases: None, reader: Client) -> None:
    response = reader.get(COMPARE.replace("/?", "/export.md?"))
    shown = response.content.decode()
    assert shown.startswith(
        "# Move from 2.11.0+cu130 to 2.13.0+cu130? On h100\n\n**Mixed, certain.** "
    )
    assert "| gpt2 inference | mixed, certain |" in shown
    assert "/compare/?base=2.11.0" in shown
