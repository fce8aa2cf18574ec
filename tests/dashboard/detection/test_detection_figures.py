"""A detector that has become worse fails here: the quick table against the recorded figures."""

import pytest

from tests.lab.bounds import Figure, fallen_behind
from tests.lab.detector import figures
from tests.lab.noise import KINDS
from tests.lab.simulation import QUICK


@pytest.fixture(scope="module")
def measured() -> list[Figure]:
    return list(figures(QUICK))


def test_no_figure_of_the_detector_is_worse_than_recorded(measured: list[Figure]) -> None:
    assert fallen_behind(measured) == []


def test_false_alerts_are_within_the_hard_limit_in_every_kind_of_noise(
    measured: list[Figure],
) -> None:
    names = tuple(f"false alerts per 1,000, {kind}, length" for kind in KINDS)
    rates = [figure for figure in measured if figure.name.startswith(names)]
    assert len(rates) == 5
    assert [str(figure) for figure in rates if figure.value > 1] == []
