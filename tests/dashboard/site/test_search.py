"""The search box: what it finds by which words."""

import pytest
from django.test import Client

from dashboard.models import AlertGroup, AlertState, Benchmark, Config, Run, Series
from dashboard.site.selectors.search import SearchResults, search
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return site.run()


def found(words: str) -> SearchResults:
    hits = search(words)
    assert hits
    return hits


def alert(title: str, state: str = AlertState.SUSPECTED) -> AlertGroup:
    return AlertGroup.objects.create(title=title, state=state)


def test_a_model_is_found_with_the_number_of_its_benchmarks(run: Run) -> None:
    assert found("GPT").models == [("gpt2", "llm", 2)]


def test_every_word_has_to_fit(run: Run) -> None:
    assert [one.name for one in found("gpt2 training").benchmarks] == [site.GPT2_STANDARD]


def test_what_was_measured_comes_before_what_was_not(run: Run) -> None:
    assert found("gpt2").benchmarks[0].name != site.GPT2_STANDARD
    measured = Benchmark.objects.get(name=site.GPT2_STANDARD)
    config = Config.objects.get(name="inductor")
    Series.objects.create(
        benchmark=measured, config=config, machine=run.machine, track=run.track, metric="latency_ms"
    )
    assert found("gpt2").benchmarks[0] == measured


def test_a_config_is_found_by_its_name(run: Run) -> None:
    assert [one.name for one in found("regio").configs] == ["regional"]


def test_a_build_leads_to_where_it_was_measured_last(run: Run) -> None:
    (build,) = found("2.13").builds
    assert (build.label, build.machine, build.track) == (site.BUILD, "cpu-2c", "local")  # type: ignore[attr-defined]


def test_open_alerts_come_before_closed_ones() -> None:
    alert("slower in inductor", AlertState.FIXED)
    alert("slower in regional")
    assert [one.title for one in found("slower").alerts] == [
        "slower in regional",
        "slower in inductor",
    ]


def test_a_number_finds_the_run_and_the_alert_of_that_id(run: Run) -> None:
    group = alert("slower")
    assert run in found(f"#{run.pk}").runs
    assert group in found(str(group.pk)).alerts


@pytest.mark.parametrize("number", ["99999999999999999999", "²", "#"])
def test_what_is_no_id_finds_nothing_and_breaks_nothing(number: str) -> None:
    assert found(number).total == 0


def test_no_word_is_no_search() -> None:
    assert search("  ") is None


def test_the_page_lists_what_was_found(run: Run, reader: Client) -> None:
    shown = text(reader, "/search/?q=mlp")
    assert f'href="/series/{site.MLP}/"' in shown
    assert "<html" in shown


def test_htmx_gets_the_hits_alone(run: Run, reader: Client) -> None:
    shown = reader.get("/search/?q=mlp", headers={"HX-Target": "hits"}).content.decode()
    assert "/benchmarks/?model=mlp" in shown
    assert "<html" not in shown


def test_what_is_not_found_is_said_with_what_is_looked_through(reader: Client) -> None:
    assert "Nothing has “qqq” in its name" in text(reader, "/search/?q=qqq")
