"""Models that the page of a comparison shows at once, and those that it folds away."""

import re

import pytest
from django.test import Client

from dashboard.judgement.words import ORDER
from tests.builders import releases
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
COMPARE = "/compare/?base=2.11.0&new=2.13.0&machine="


def _folds(client: Client, machine: str) -> dict[str, set[str]]:
    """By verdict, the models that are folded."""
    folds = client.get(COMPARE + machine).context["folds"]
    return {verdict: {row.group.name for row in rows} for verdict, rows, _ in folds}


def test_models_that_changed_are_shown_and_the_others_folded_by_verdict(
    two_releases: None, reader: Client
) -> None:
    rows = reader.get(f"{COMPARE}h100").context["model_rows"]
    shown = [row.group.answer.verdict for row in rows]
    assert shown == sorted(shown, key=ORDER.index)
    assert set(shown) >= {"worse", "mixed", "better"}
    assert "resnet50" in _folds(reader, "h100")["same"]


def test_models_without_pairs_are_folded_as_unclear(reader: Client) -> None:
    releases.import_two_releases(machine="few", repeats=4, models=["gpt2"])
    releases.import_two_releases(machine="few", repeats=1, models=["llama", "resnet50"])
    assert _folds(reader, "few")["unclear"] >= {"llama", "resnet50"}


def test_models_are_open_where_none_changed(reader: Client) -> None:
    releases.import_two_releases(machine="few", repeats=1, models=["llama"])
    assert 'id="unclear-models" open>' in reader.get(f"{COMPARE}few").text


def test_whoever_may_start_runs_can_measure_all_that_is_unclear(operator: Client) -> None:
    releases.import_two_releases(machine="few", repeats=1, models=["llama", "resnet50"])
    page = operator.get(f"{COMPARE}few").text
    [link] = re.findall(r'href="([^"]+)"\s*>Measure\s+all<', page)
    form = operator.get(link.replace("&amp;", "&")).context["adminform"].form
    assert {benchmark.model for benchmark in form.initial["benchmarks"]} == {"llama", "resnet50"}
    assert "Measure all" not in page_text(Client().get(f"{COMPARE}few"))


def test_last_row_is_the_mean_over_all_models(two_releases: None, reader: Client) -> None:
    page = reader.get(f"{COMPARE}h100")
    table = page.context["models"]
    steps = table.totals[table.columns.index("latency_ms")]
    assert steps == page.context["report"].overall.steps
    assert "All, on average" in page_text(page)
