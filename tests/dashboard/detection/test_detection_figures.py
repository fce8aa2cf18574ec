"""A detector that has become worse fails here: the quick table against the recorded figures."""

import pytest

from tests.perf.bounds import Figure, fallen_behind
from tests.perf.detector import QUICK, figures


@pytest.fixture(scope="module")
def known() -> list[Figure]:
    return list(figures(QUICK))


def test_no_figure_of_the_detector_is_worse_than_recorded(known: list[Figure]) -> None:
    assert fallen_behind(known) == []


def test_false_alerts_are_within_the_hard_limit_in_every_kind_of_noise(known: list[Figure]) -> None:
    rates = {
        figure.name: figure.value for figure in known if figure.name.startswith("false alerts")
    }
    assert len(rates) == 5
    assert {name: value for name, value in rates.items() if value > 1} == {}
