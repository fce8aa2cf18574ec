"""The change that stands for a verdict: the first that the answer names."""

import pytest

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import build_report
from tests.builders.compared import samples, side

BASE = side({"latency_ms": samples(), "cold_start_s": samples()})


@pytest.mark.parametrize(
    ("new", "text"),
    [
        ({"latency_ms": samples(factor=1.1)}, "latency 10.0% slower"),
        (
            {"latency_ms": samples(factor=0.9), "cold_start_s": samples(factor=1.3)},
            "cold start 30.0% longer",
        ),
        (
            {"latency_ms": samples(factor=1.1), "cold_start_s": samples(factor=0.7)},
            "latency 10.0% slower",
        ),
        (
            {"latency_ms": samples(factor=0.9), "cold_start_s": samples()},
            "latency 10.0% faster",
        ),
    ],
)
def test_change_that_decides_is_the_first_of_the_answer(
    new: dict[str, CaseSamples], text: str
) -> None:
    group = build_report(BASE, side(new)).overall
    assert group.deciding_change
    assert group.deciding_change.text == text
    assert text in group.answer.sentences[0]


def test_new_failure_decides_before_any_change() -> None:
    new = side({}, failures={"fail_to_compile": 1})
    change = build_report(BASE, new).overall.deciding_change
    assert change
    assert (change.text, change.metric) == ("failed to compile", "")


@pytest.mark.parametrize(
    "new",
    [
        side({"latency_ms": samples(), "cold_start_s": samples()}),  # No change
        side({"latency_ms": samples((90.0, 110.0)), "cold_start_s": samples(factor=0.7)}),
        {},
    ],
)
def test_nothing_decides_where_nothing_changed_or_is_known(new: Side) -> None:
    assert build_report(BASE, new).overall.deciding_change is None


def test_change_names_the_case_and_metric_that_the_link_leads_to() -> None:
    change = build_report(BASE, side({"latency_ms": samples(factor=1.1)})).overall.deciding_change
    assert change
    assert change.case
    assert (change.case.model, change.case.mode) == ("gpt2", "training")
    assert change.metric == "latency_ms"
