"""Means over cases in the answer of an upgrade: their words, the median, and what is certain."""

import re

import pytest

from dashboard.comparisons.core.matching import (
    CaseMeasurements,
    ComparedCase,
    Key,
)
from dashboard.comparisons.core.upgrade_groups import build_report
from tests.builders.compared import STEADY, samples, side


def _one_case_makes_the_mean(values: tuple[float, ...]) -> str:
    """The answer where one of six cases needs a fifth of the memory, and the others a little less.

    values: of the processes of each case and side.
    """
    base: dict[Key, CaseMeasurements] = {}
    new: dict[Key, CaseMeasurements] = {}
    for number, factor in enumerate((0.2, *[0.99] * 5)):
        config = f"inductor_{number}"
        base |= side({"peak_memory_gb": samples(values)}, config)
        new |= side({"peak_memory_gb": samples(values, factor)}, config)
    return build_report(base, new).overall.answer.sentence


def test_median_is_in_the_brackets_of_the_means_interval() -> None:
    mean = r"On average peak memory is 24\.\d% lower \(\d+\.\d to \d+\.\d%; median 1\.0% lower\)\."
    assert re.search(mean, _one_case_makes_the_mean(STEADY))


def test_median_has_brackets_of_its_own_next_to_a_mean_without_interval() -> None:
    mean = "On average peak memory is 24.2% lower (median 1.0% lower)."
    assert mean in _one_case_makes_the_mean((100.0,) * 6)


def test_two_devices_for_all_cases_do_not_make_the_mean_certain() -> None:
    base, new = {}, {}
    for number in range(20):
        case = ComparedCase(f"m{number}", "inductor", f"m{number}", "llm", "training")
        base[case.key] = CaseMeasurements(case, {"latency_ms": [samples()]})
        slower = samples(factor=1.02, device="other")
        new[case.key] = CaseMeasurements(case, {"latency_ms": [slower]})
    report = build_report(base, new)
    assert report.overall.answer.word == "Not enough data"
    assert "(not measured in turn on one device)" in report.overall.answer.sentence


def test_family_whose_cases_all_got_better_got_better() -> None:
    """Its mean is not judged by itself; one case that stayed leaves it open."""
    both = {"latency_ms": samples()}
    base = {**side(both), **side(both, config="regional")}
    faster = side({"latency_ms": samples(factor=0.8)})
    slightly = side({"latency_ms": samples(factor=0.85)}, config="regional")
    same = side(both, config="regional")
    for other, verdict in ((slightly, "better"), (same, "unknown")):
        (family,) = build_report(base, {**faster, **other}).models
        (mean,) = (each for each in family.means if each.key == "latency_ms")
        assert mean.verdict == verdict


@pytest.mark.parametrize(("count", "said"), [(3, ""), (5, "2.0% faster")])
def test_mean_that_one_case_makes_has_the_median_next_to_it(count: int, said: str) -> None:
    base: dict[Key, CaseMeasurements] = {}
    new: dict[Key, CaseMeasurements] = {}
    for number, factor in enumerate((0.5, 0.98, 0.98, 0.98, 0.98)[:count]):
        base |= side({"latency_ms": samples()}, config=f"inductor_{number}")
        new |= side({"latency_ms": samples(factor=factor)}, config=f"inductor_{number}")
    (mean,) = build_report(base, new).overall.means
    assert mean.median == said
