"""The search box: what it finds by which words."""

import re

import pytest
from django.test import Client

from dashboard.models import AlertGroup, AlertState, Benchmark, Config, Run, Series
from dashboard.site.selectors.search import MOST, SearchResults, search
from tests.builders import alerting, site
from tests.builders.api import Caller, token
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return site.run()


def results(words: str) -> SearchResults:
    hits = search(words)
    assert hits
    return hits


def alert(title: str, state: str = AlertState.SUSPECTED) -> AlertGroup:
    return alerting.group(title=title, state=state)


def test_model_is_found_with_the_number_of_its_benchmarks(run: Run) -> None:
    assert results("GPT").models == [("gpt2", "llm", 2)]


def benchmark_of(model: str, name: str) -> None:
    like = Benchmark.objects.get(name=site.GPT2_STANDARD)
    like.pk, like.model, like.name, like.position = None, model, name, 0
    like.save()


def test_model_of_just_that_name_comes_first(run: Run) -> None:
    benchmark_of("ddp_gpt2", "ddp_gpt2.standard")
    assert [model for model, _, _ in results("GPT2").models] == ["gpt2", "ddp_gpt2"]


def test_benchmarks_of_the_model_of_just_that_name_come_first(run: Run) -> None:
    benchmark_of("ddp_gpt2", "ddp_gpt2.standard.training")
    assert [benchmark.model for benchmark in results("training gpt2").benchmarks] == [
        "gpt2",
        "ddp_gpt2",
    ]


def test_config_of_just_that_name_comes_first(run: Run) -> None:
    Config.objects.create(name="ab_inductor", position=0)
    assert results("inductor").configs[0].name == "inductor"


def test_every_word_has_to_fit(run: Run) -> None:
    assert [benchmark.name for benchmark in results("gpt2 training").benchmarks] == [
        site.GPT2_STANDARD
    ]


def test_measured_benchmarks_come_first(run: Run) -> None:
    assert results("gpt2").benchmarks[0].name != site.GPT2_STANDARD
    measured = Benchmark.objects.get(name=site.GPT2_STANDARD)
    config = Config.objects.get(name="inductor")
    Series.objects.create(
        benchmark=measured, config=config, machine=run.machine, track=run.track, metric="latency_ms"
    )
    assert results("gpt2").benchmarks[0] == measured


def acts_on(client: Client, group: AlertGroup) -> list[bool]:
    shown = text(client, "/search/?q=gpt2")
    acts = [f'href="/alerts/{group.pk}/#triage"', f"?benchmarks={site.GPT2}"]
    return [act in shown for act in acts]


def test_what_somebody_may_do_stands_beside_what_is_found(run: Run, operator: Client) -> None:
    assert acts_on(operator, alert("gpt2 is slower")) == [True, True]


def test_reader_finds_without_being_offered_to_act(run: Run, reader: Client) -> None:
    assert acts_on(reader, alert("gpt2 is slower")) == [False, False]


def test_config_is_found_by_its_name(run: Run) -> None:
    assert [config.name for config in results("regio").configs] == ["regional"]


def test_build_leads_to_where_it_was_measured_last(run: Run) -> None:
    (build,) = results("2.13").builds
    assert (build.label, build.machine, build.track) == (site.BUILD, "cpu-2c", "local")  # type: ignore[attr-defined]


def test_build_of_two_machines_names_the_one_that_measured_it_last(
    run: Run, reader: Client
) -> None:
    site.run(machine=site.machine("h200").key)
    (hit,) = Caller(token()).get("search", q=site.BUILD)["hits"][:1]
    assert hit["text"].endswith(", last measured on h200")
    assert "last measured on h200" in text(reader, f"/search/?q={site.BUILD}")


def test_open_alerts_come_before_closed_ones() -> None:
    alert("slower in inductor", AlertState.FIXED)
    alert("slower in regional")
    assert [group.title for group in results("slower").alerts] == [
        "slower in regional",
        "slower in inductor",
    ]


def test_number_finds_the_run_and_the_alert_of_that_id(run: Run) -> None:
    group = alert("slower")
    assert run in results(f"#{run.pk}").runs
    assert group in results(str(group.pk)).alerts


def test_number_after_its_kind_finds_that_kind_alone(run: Run) -> None:
    group = alert("slower")
    assert results(f"Alert #{group.pk}").alerts == [group]
    assert results(f"run {run.pk}").runs == [run]
    assert results(f"alert {run.pk}").runs == []


@pytest.mark.parametrize("number", ["99999999999999999999", "²", "#"])
def test_number_that_is_not_an_id_finds_neither_alert_nor_run(number: str) -> None:
    assert results(number).alerts == []
    assert results(number).runs == []


def test_word_of_the_glossary_of_just_that_name_comes_first() -> None:
    assert results("cold start").words[0][:2] == ("cold_start_s", "Cold start")
    assert results("unclear").words[0][0] == "unclear"
    assert "cold_start_s" in [key for key, _, _ in results("start cold").words]


def test_documentation_is_found_by_its_text_each_page_once() -> None:
    slugs = [hit.page.slug for hit in results("webhook").pages]
    assert slugs[0] == "alerts"
    assert len(slugs) == len(set(slugs)) > 1
    assert results("webhook").pages[0].heading.text == "The webhook"


def test_few_pages_of_the_documentation_are_listed() -> None:
    assert len(results("torch").pages) == MOST


def test_search_without_a_word_is_none() -> None:
    assert search("  ") is None


def test_page_lists_the_results(run: Run, reader: Client) -> None:
    shown = text(reader, "/search/?q=mlp")
    assert f'href="/series/{site.MLP}/"' in shown
    assert "<html" in shown


def test_htmx_gets_the_hits_alone(run: Run, reader: Client) -> None:
    shown = page_text(reader.get("/search/?q=mlp", headers={"HX-Target": "hits"}))
    assert "/benchmarks/?model=mlp" in shown
    assert "<html" not in shown


def test_page_leads_to_the_word_of_the_glossary(reader: Client) -> None:
    shown = text(reader, "/search/?q=break-even")
    assert 'href="/glossary/#break-even-steps">Break-even' in shown
    assert "Steps after which the cold start is paid back." in shown


def test_page_leads_to_the_section_of_the_documentation(reader: Client) -> None:
    shown = text(reader, "/search/?q=webhook")
    assert 'href="/docs/alerts/#the-webhook"' in shown
    assert "The webhook</a>" in shown
    assert 'href="/docs/?q=webhook"' in shown


def test_empty_result_says_what_is_searched(reader: Client) -> None:
    shown = text(reader, "/search/?q=qqq")
    assert "Nothing has “qqq”" in shown
    assert 'href="/glossary/"' in shown


def test_model_with_more_benchmarks_than_are_listed_leads_to_all(run: Run, reader: Client) -> None:
    for number in range(4):
        benchmark_of("gpt2", f"gpt2.another{number}")
    shown = text(reader, "/search/?q=gpt2")
    assert re.search(r'href="/benchmarks/\?model=gpt2">All 6 benchmarks of gpt2<', shown)
