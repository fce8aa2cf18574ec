"""Versions where there is little room: boxes instead of columns, names of builds on two lines."""

import pytest
from django.test import Client

from dashboard.language.metrics import METRICS
from dashboard.trends.core.release_charts import release_figure
from tests.builders.reading import text


@pytest.mark.django_db
def test_each_value_of_a_case_has_the_name_of_its_build(two_releases: None, reader: Client) -> None:
    page = text(reader, "/versions/?machine=h100")
    rows = page.count('<th scope="row"><a class="name"')
    assert rows
    assert page.count('<td data-label="2.11.0">') == rows
    assert page.count('<td data-label="2.13.0">') == rows


@pytest.mark.parametrize(
    ("builds", "names"),
    [
        (["2.11.0+cu130", "2.15.0+cu132"], ["2.11.0<br>+cu130", "2.15.0<br>+cu132"]),
        (["2.11.0+cu130", "2.13.0+cu130"], ["2.11.0", "2.13.0"]),
        (["2.11.0+cpu", "2.11.0+cu130~x"], ["2.11.0<br>+cpu", "2.11.0<br>+cu130<br>~x"]),
    ],
)
def test_local_versions_that_differ_have_a_line_below_the_axis(
    builds: list[str], names: list[str]
) -> None:
    figure = release_figure([], METRICS["latency_ms"], builds)
    assert figure["layout"]["xaxis"]["ticktext"] == names
