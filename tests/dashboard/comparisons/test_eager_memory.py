"""Memory that eager saves as well is not the compiler's."""

import pytest

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.language.glossary import explain
from tests.builders.compared import samples, side


@pytest.mark.parametrize(("eager", "said"), [(1.0, True), (2.0, False)])
def test_memory_that_eager_saves_as_well_is_said_to_be_eagers(eager: float, said: bool) -> None:
    """A library's workspace: 33.6 MB in either arm."""

    def of(change: float) -> Side:
        peaks = {"peak_memory_gb": 0.1 + change, "eager_peak_memory_gb": 1.0 + eager * change}
        return side({key: samples((value,) * 2) for key, value in peaks.items()})

    answer = build_report(of(0.0), of(-0.0336)).overall.answer
    assert "inductor peak memory 33.6% lower" in answer.sentence
    assert ("33.6% lower, by 33.6 MB, in eager as well" in answer.sentence) == said
    assert answer.word == ("No regression found" if said else "Move")
    assert "memory that eager saves as well" in explain(answer.word).lower()


def test_what_an_older_suite_counted_elsewhere_is_no_change_of_eagers_memory() -> None:
    """It counted a copy of the model on another GPU, of the base alone."""

    def of(change: float, elsewhere: float = 0.0) -> Side:
        peaks = {"peak_memory_gb": 0.1 + change, "eager_peak_memory_gb": 1.0 + change}
        measured = side({key: samples((value,) * 2) for key, value in peaks.items()})
        if elsewhere:
            [case] = measured.values()
            case.samples["eager_peak_memory_gb"].append(samples((elsewhere,), device="gpu-1"))
        return measured

    answer = build_report(of(0.0, elsewhere=1.5), of(-0.0336)).overall.answer
    assert "inductor peak memory 33.6% lower, by 33.6 MB, in eager as well" in answer.sentence
