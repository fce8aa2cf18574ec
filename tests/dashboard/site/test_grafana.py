"""docker/grafana.json asks for what /metrics gives, and its panels do not cover each other."""

import json
import re
from itertools import combinations
from typing import Any

import pytest
from django.utils import timezone

from dashboard.site.api.metrics import PREFIX, Figures
from tests.builders.docker_files import DOCKER

DASHBOARD = json.loads((DOCKER / "grafana.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]


def figures_of(panel: dict[str, Any]) -> set[str]:
    """The metrics that a panel's queries name."""
    return {
        name for target in panel["targets"] for name in re.findall(rf"{PREFIX}\w+", target["expr"])
    }


@pytest.mark.django_db
def test_every_panel_asks_for_figures_that_there_are_and_no_figure_is_forgotten() -> None:
    given = {family.name for family in Figures(timezone.now()).collect()}
    assert set().union(*map(figures_of, PANELS)) == given


@pytest.mark.django_db
def test_legend_names_labels_that_the_figure_has() -> None:
    labels = {family.name: set(family._labelnames) for family in Figures(timezone.now()).collect()}
    for panel in PANELS:
        available = set().union(*(labels[name] for name in figures_of(panel)))
        shown = {
            word
            for target in panel["targets"]
            for word in re.findall(r"{{(\w+)}}", target["legendFormat"])
        }
        assert shown <= available, panel["title"]


def test_no_panel_covers_another_and_none_leaves_the_grid() -> None:
    places = [panel["gridPos"] for panel in PANELS]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for first, other in combinations(places, 2):
        beside = first["x"] + first["w"] <= other["x"] or other["x"] + other["w"] <= first["x"]
        below = first["y"] + first["h"] <= other["y"] or other["y"] + other["h"] <= first["y"]
        assert beside or below


def test_every_panel_has_a_number_a_title_and_a_sentence() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert all(panel["title"] and panel["description"] for panel in PANELS)


def test_data_source_is_chosen_at_import() -> None:
    assert [variable["type"] for variable in DASHBOARD["templating"]["list"]] == ["datasource"]
    assert {panel["datasource"]["uid"] for panel in PANELS} == {"${prometheus}"}
