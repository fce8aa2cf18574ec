"""What the sentences of an answer name, in which order, and by how much."""

import pytest

from dashboard.comparisons.core.case_samples import CaseSamples, pool_samples
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.comparisons.templatetags.comparisons import leading
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


@pytest.mark.parametrize(
    ("step", "is_said"),
    [
        ((90.0, 110.0), True),  # it may be much slower
        ((60.0, 102.0) * 3, True),  # it may be much faster, and hardly slower
        ((98.0, 102.0) * 3, False),  # not certain, but a few percent at most
        ((80.0, 80.1), False),  # suspected to be faster, which another sentence says
        ((80.0, 80.3, 79.8) * 2, False),
        ((100.0, 100.3, 99.8) * 2, False),
    ],
)
def test_step_of_which_nothing_is_known_is_said_next_to_a_regression(
    step: tuple[float, ...], is_said: bool
) -> None:
    base = side({"latency_ms": samples(), "cold_start_s": samples()})
    new = side({"latency_ms": samples(step), "cold_start_s": samples(factor=1.4)})
    answer = build_report(base, new).overall.answer
    assert "Worse: gpt2.training inductor cold start 40.0% longer" in answer.sentence
    assert ("Whether its whole step changed is not known." in answer.sentences) == is_said


def test_steps_of_which_nothing_is_known_are_counted() -> None:
    steady = {"latency_ms": samples(), "cold_start_s": samples()}
    scattered = side({"latency_ms": samples((90.0, 110.0))}, "regional")
    base = {**side(steady), **scattered}
    sentences = build_report(base, {**side(START_DOUBLED), **scattered}).overall.answer.sentences
    assert "Whether the whole step of 1 case changed is not known." in sentences


def test_step_that_is_open_next_to_no_regression_is_said_once() -> None:
    scattered = side({"latency_ms": samples((90.0, 110.0))})
    assert "Whether" not in build_report(scattered, scattered).overall.answer.sentence


def gpu_step(start: float) -> Side:
    """It waits for the GPU, whose own time repeats, where the whole step does not."""
    metrics = {
        "latency_ms": samples((60.0, 130.0)),
        "device_ms": samples(),
        "device_share_percent": samples((97.0, 97.0)),
        "cold_start_s": samples(factor=start),
    }
    return side(metrics, "regional")


def test_step_for_which_the_gpus_own_time_stands_is_none_of_them() -> None:
    scattered = side({"latency_ms": samples((90.0, 110.0))})
    base, new = {**gpu_step(1.0), **scattered}, {**gpu_step(1.4), **scattered}
    sentence = build_report(base, new).overall.answer.sentence
    assert "The whole step of 1 case is not decided; it waits for the GPU" in sentence
    assert "Whether the whole step of 1 other case changed is not known." in sentence


def with_speedup(level: float, config: str = "inductor") -> Side:
    """A compiled case next to its eager control."""
    metrics = {"latency_ms": samples(), "eager_latency_ms": samples()}
    return side({**metrics, "speedup": samples((level,) * 6)}, config)


@pytest.mark.parametrize(
    ("base", "new", "said"),
    [
        (0.54, 0.58, ["1.9 and 1.7 times as long."]),
        (0.5, 0.501, ["2.0 times as long."]),
        (0.9, 0.96, []),
        (0.96, 0.9, []),
    ],
)
def test_compiled_case_that_eager_beats_on_both_sides_is_said(
    base: float, new: float, said: list[str]
) -> None:
    title = "Compiled, it takes longer than eager on both sides: "
    sentences = build_report(with_speedup(base), with_speedup(new)).overall.answer.sentences
    assert [each.removeprefix(title) for each in sentences if each.startswith("Compiled")] == said


def test_compiled_cases_that_eager_beats_are_named_the_longest_first() -> None:
    cases = {
        **with_speedup(0.8),
        **with_speedup(0.5, "regional"),
        **with_speedup(2.0, "max_autotune"),
    }
    assert (
        "Compiled, 2 of 3 cases take longer than eager on both sides: gpt2.training regional "
        "(2.0 times as long), gpt2.training inductor (1.2 times as long)."
    ) in build_report(cases, cases).overall.answer.sentences


def test_line_of_the_newest_release_leaves_out_what_does_not_count() -> None:
    base = {"latency_ms": samples((100.0, 100.1)), "host_ms": samples()}
    new = {"latency_ms": samples((140.0, 140.1)), "host_ms": samples(factor=0.5)}
    sentences = build_report(side(base), side(new)).overall.answer.sentences
    assert sentences[-1].startswith("Better for certain, but not counted")
    assert leading(sentences) == [sentences[0]]
