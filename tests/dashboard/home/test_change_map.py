"""The map of a machine: a cell says what the comparison, or the detector, says of two builds."""

import itertools
import re
from html import unescape

import pytest
from django.test import Client

from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.home.core.change_map import FIRST, MapCell, MapRow, release_rows
from dashboard.ui.templatetags.drawings import on_axis, spark
from tests.builders.compared import latency, samples, side
from tests.builders.reading import text

BUILDS = ("2.11.0", "2.13.0", "2.14.1")
SLOW = [2.2, 2.21, 2.19]
FAST = [2.0, 2.01, 1.99]


def test_cell_has_the_number_of_the_comparison_that_it_leads_to(
    two_releases: None, reader: Client
) -> None:
    page = reader.get("/?machine=h100")
    rows = page.context["map"].rows
    compared = reader.get("/compare/?base=2.11.0%2Bcu130&new=2.13.0%2Bcu130&machine=h100")
    groups = {(each.name, each.mode): each for each in compared.context["report"].models}
    cells = [(row, cell) for row in rows for cell in row.changes]
    assert cells
    for row, cell in [each for each in cells if each[1].change]:
        means = groups[row.name, row.mode].means
        assert (cell.change, cell.verdict) in [(mean.mean, mean.verdict) for mean in means]
    links = re.findall(r'class="cell[^"]*" href="([^"]+)"', page.content.decode())
    assert len(links) == len(cells)
    assert cells[0][0].name in text(reader, unescape(links[0]))


def test_build_that_did_not_measure_a_model_is_passed_over_and_named() -> None:
    sides = [latency(values=FAST), {}, latency(values=SLOW)]
    [row], alone = release_rows(BUILDS, sides, lambda a, b: build_report(sides[a], sides[b]))
    first, between, cell = row.cells
    assert (first, between, alone) == (FIRST, None, 0)
    assert isinstance(cell, MapCell)
    assert "not measured on 2.13.0" in cell.about
    assert row.levels[1] is None


def test_mark_of_the_newest_build_spans_those_that_did_not_measure_it() -> None:
    memory = [samples(values=[amount] * 3) for amount in (1.0, 2.0)]
    sides = [
        side({"latency_ms": samples(), "peak_memory_gb": memory[0]}),
        latency(),
        side({"latency_ms": samples(), "peak_memory_gb": memory[1]}),
    ]
    [row], _ = release_rows(BUILDS, sides, lambda a, b: build_report(sides[a], sides[b]))
    cell = row.changes[-1]
    [mark] = cell.marks
    assert mark[:3] == ("memory", "worse", "2.11.0")
    assert "memory worse than on 2.11.0" in cell.about


def test_model_whose_step_is_decided_is_not_quiet(two_releases: None, reader: Client) -> None:
    for row in reader.get("/?machine=h100").context["map"].rows:
        assert row.is_quiet != any(cell.text for cell in row.changes)


def test_model_of_one_build_alone_is_counted() -> None:
    sides = [latency(values=FAST), {}]
    assert release_rows(BUILDS[:2], sides, lambda a, b: build_report(sides[a], sides[b])) == ([], 1)


@pytest.mark.parametrize(("percent", "place"), [(0, 0), (-50, -1), (50, 1), (400, 1)])
def test_axis_ends_at_fifty_percent(percent: float, place: float) -> None:
    assert on_axis(percent) == pytest.approx(place)


def faster(config: str, values: list[float]) -> MapRow:
    """The row of a model that another config measured as well."""
    inductor = side({"latency_ms": samples(values=FAST)})
    other = side({"latency_ms": samples(values=values)}, config=config)
    sides = [inductor, {**inductor, **other}]
    rows, _ = release_rows(BUILDS[:2], sides, lambda a, b: build_report(sides[a], sides[b]))
    return rows[0]


def test_config_whose_every_process_was_faster_is_named() -> None:
    assert faster("regional", [1.5, 1.6]).better == "regional"


@pytest.mark.parametrize(
    ("config", "values"),
    [("regional", [1.5, 2.5]), ("regional", [1.5]), ("eager_library", [1.5, 1.6])],
)
def test_config_that_is_not_faster_for_sure_is_not_named(config: str, values: list[float]) -> None:
    assert not faster(config, values).better


def test_spark_line_breaks_where_a_build_did_not_measure() -> None:
    assert spark([1.0, 1.2, None, 1.1, 1.0]).count("M") == 2


def test_axis_rises_without_a_step() -> None:
    places = [on_axis(percent / 10) for percent in range(-600, 601)]
    assert places == sorted(places)
    assert max(b - a for a, b in itertools.pairwise(places)) < 0.02
