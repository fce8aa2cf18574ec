"""What the sentences of an answer name, in which order, and by how much."""

import pytest

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.metric_effects import CaseSamples, pool_samples
from dashboard.comparisons.core.upgrade_groups import build_report
from tests.builders.compared import samples, side

START_DOUBLED = {"latency_ms": samples(), "cold_start_s": samples(factor=2.0)}


def sentence_of(base: Side, new: Side, title: str) -> str:
    """The one that starts with a title."""
    sentences = build_report(base, new).overall.answer.sentences
    (sentence,) = (each for each in sentences if each.startswith(f"{title}: "))
    return sentence


def test_slower_step_is_named_before_a_start_that_is_much_longer() -> None:
    unchanged = {"latency_ms": samples(), "cold_start_s": samples()}
    base = {**side(unchanged), **side(unchanged, "regional")}
    slower = {"latency_ms": samples(factor=1.1), "cold_start_s": samples()}
    new = {**side(START_DOUBLED), **side(slower, "regional")}
    worse = sentence_of(base, new, "Worse")
    assert worse.startswith("Worse: gpt2.training regional latency 10.0% slower (")
    assert "gpt2.training inductor cold start 100% longer (" in worse


def memory(inductor: float, regional: float, step: float) -> Side:
    """Peaks of two configs, of which inductor's is less than eager's by as much as ever."""
    eager = {"eager_peak_memory_gb": samples((1.0 + inductor,) * 2)}
    peaks = {"peak_memory_gb": samples((inductor,) * 2), **eager}
    other = {"peak_memory_gb": samples((regional,) * 2), "latency_ms": samples(factor=step)}
    return {**side(peaks), **side(other, "regional")}


def test_faster_step_is_named_first_and_memory_that_eager_saves_too_last() -> None:
    better = sentence_of(memory(0.1, 1.0, 1.0), memory(0.02, 0.9, 0.95), "Better")
    assert better == (
        "Better: gpt2.training regional latency 5.0% faster (4.7 to 5.3%), peak memory 10.0% "
        "lower, gpt2.training inductor peak memory 80.0% lower, by 80 MB, in eager as well."
    )


def test_start_that_is_longer_says_by_how_many_seconds() -> None:
    base = side({"latency_ms": samples(), "cold_start_s": samples()})
    worse = sentence_of(base, side(START_DOUBLED), "Worse")
    assert worse.startswith("Worse: gpt2.training inductor cold start 100% longer (")
    assert worse.endswith("), by 100 s.")


@pytest.mark.parametrize(("factor", "is_said"), [(2.0, True), (0.2, False)])
def test_seconds_of_all_processes_that_contradict_the_change_are_not_said(
    factor: float, is_said: bool
) -> None:
    """Most of the new side's processes ran on a GPU that the base never saw."""

    def starts(each: CaseSamples) -> Side:
        return side({"latency_ms": samples(), "cold_start_s": each})

    elsewhere = samples(factor=factor, device="gpu-1")
    new = pool_samples([samples(factor=1.5), elsewhere, elsewhere])
    worse = sentence_of(starts(samples()), starts(new), "Worse")
    assert "cold start 50.0% longer (" in worse
    assert (" s." in worse) == is_said
