"""Two clocks: the whole step's, and the GPU's own time where the step waits for it."""

from dataclasses import replace

import pytest

from dashboard.comparisons.core.gate import decide
from dashboard.comparisons.core.matching import Side, compare
from dashboard.comparisons.core.upgrade_groups import CaseGroup, build_report
from dashboard.language.metrics import METRICS
from tests.builders.compared import samples, side

SCATTERED = (90.0, 130.0)  # two processes, on a host with neighbours
REPEATED = (93.30, 93.34)
STANDS_FOR_IT = (
    "The whole step of 1 case is not decided; it waits for the GPU, so the GPU's own time decides."
)


def gpu_case(device_factor: float = 1.0, share: float = 97.0) -> Side:
    return side(
        {
            "latency_ms": samples(SCATTERED),
            "device_ms": samples(REPEATED, factor=device_factor),
            "device_share_percent": samples((share, share)),
        }
    )


def overall(new: Side, base: Side | None = None) -> CaseGroup:
    return build_report(base or gpu_case(), new).overall


@pytest.mark.parametrize(
    ("factor", "word", "sentence"),
    [
        (1.42, "Stay", "Worse: gpt2.training inductor device time 42.0% slower ("),
        (
            0.85,
            "Move, cold start not known",
            "Better: gpt2.training inductor device time 15.0% faster (",
        ),
        (
            1.0,
            "No regression found, cold start not known",
            "verdict got significantly worse.",
        ),
    ],
)
def test_gpu_time_of_two_processes_decides_where_the_step_waits_for_it(
    factor: float, word: str, sentence: str
) -> None:
    group = overall(gpu_case(factor))
    assert group.answer.word == word
    assert sentence in group.answer.sentence
    assert STANDS_FOR_IT in group.answer.sentence


def test_gpu_time_that_may_be_shorter_only_bounds_the_step() -> None:
    """Two processes a side: suspected to be faster."""
    answer = overall(gpu_case(0.97)).answer
    assert answer.word == "No regression found, cold start not known"
    assert "it waits for the GPU, whose own time is not slower." in answer.sentence
    assert STANDS_FOR_IT not in answer.sentence


def of_two_sessions(factor: float) -> Side:
    """A process on each of two GPUs."""
    sessions = [samples((93.30 * factor,), device=name) for name in ("gpu-0", "gpu-1")]
    measured = {}
    for key, case in gpu_case().items():
        measured[key] = replace(case, samples={**case.samples, "device_ms": sessions})
    return measured


def test_two_sessions_of_one_process_a_side_decide_where_they_agree() -> None:
    group = overall(of_two_sessions(1.42), of_two_sessions(1.0))
    assert group.answer.word == "Stay"
    assert "Worse: gpt2.training inductor device time 42.0% slower" in group.answer.sentence


def test_small_change_of_two_processes_may_be_inductors_choice_of_block_sizes() -> None:
    group = overall(gpu_case(1.03))
    assert group.answer.word == "Not enough data"
    assert "Suspected, not certain: gpt2.training inductor device time 3.0% slower (" in (
        group.answer.sentence
    )


@pytest.mark.parametrize(("apart", "word"), [(0.8, "Stay"), (2.5, "Not enough data")])
def test_of_a_large_change_two_processes_may_be_a_twentieth_apart(apart: float, word: str) -> None:
    """GPT-2's training in 2.11.0 and 2.14.1 on one H200: 46.08 and 45.86, 68.63 and 68.27 ms."""
    base, new = gpu_case(), gpu_case()
    for sides, values in ((base, (45.86, 45.86 + apart)), (new, (68.27, 68.63))):
        [measured] = sides.values()
        measured.samples["device_ms"] = [samples(values)]
    assert overall(new, base).answer.word == word


@pytest.mark.parametrize(
    ("base", "new", "verdict"),
    [
        ((100.0, 100.1) * 3, (103.0, 103.1) * 3, "worse"),
        ((100.0, 100.0, 100.0, 100.0, 104.0, 100.0), (104.0,) * 6, "unknown"),
    ],
)
def test_six_processes_are_certain_where_no_two_of_both_sides_took_the_same(
    base: tuple[float, ...], new: tuple[float, ...], verdict: str
) -> None:
    def of(values: tuple[float, ...]) -> Side:
        given = gpu_case()
        [measured] = given.values()
        measured.samples["device_ms"] = [samples(values)]
        return given

    [row] = overall(of(new), of(base)).judgement.tables["device_ms"].rows
    assert row.effect.verdict == verdict
    assert row.effect.suspected == (None if verdict == "worse" else "worse")


APART = (100.0, 100.4, 99.8, 100.2, 100.1, 100.3)
ONE_AS_LONG = (97.0, 97.2, 96.9, 97.1, 97.3, 99.9)


@pytest.mark.parametrize(("utilization", "verdict"), [(99.0, "unknown"), (40.0, "better")])
def test_step_that_waits_for_the_gpu_is_no_surer_than_its_launches(
    utilization: float, verdict: str
) -> None:
    def of(values: tuple[float, ...]) -> Side:
        busy = samples((utilization,) * 6)
        return side({"latency_ms": samples(values), "gpu_utilization_percent": busy})

    [row] = overall(of(ONE_AS_LONG), of(APART)).judgement.tables["latency_ms"].rows
    assert row.effect.verdict == verdict
    assert row.effect.suspected == (None if verdict == "better" else "better")


@pytest.mark.parametrize("metric", ["latency_ms", "throughput_per_s", "speedup", "device_speedup"])
def test_what_is_made_of_a_step_or_device_time_is_no_surer_than_that(metric: str) -> None:
    is_time = metric.endswith("ms")

    def of(values: tuple[float, ...]) -> Side:
        measured = values if is_time else tuple(1e4 / value for value in values)
        busy = samples((99.0,) * 6)
        return side({metric: samples(measured), "gpu_utilization_percent": busy})

    [row] = compare(of(APART), of(ONE_AS_LONG), METRICS[metric]).rows
    assert (row.effect.verdict, row.effect.suspected) == ("unknown", "better")


def test_step_that_waits_for_the_host_is_not_known_by_the_gpu() -> None:
    hosted = gpu_case(share=40.0)
    group = overall(hosted, hosted)
    assert group.answer.word == "Not enough data"
    assert STANDS_FOR_IT not in group.answer.sentence
    assert decide(hosted, hosted).state == "unknown"


def test_more_gpu_time_is_said_and_not_counted_where_the_step_waits_for_the_host() -> None:
    group = overall(gpu_case(1.2, share=40.0), gpu_case(share=40.0))
    assert group.answer.word == "Not enough data"
    assert "1 of 1 result could still hide a large regression in latency" in group.answer.sentence
    not_counted = (
        "Worse for certain, but not counted towards the verdict: device time 20.0% slower ("
    )
    assert not_counted in group.answer.sentence
    assert "%), 40% of the step." in group.answer.sentence
    mean = group.mean_of("device_ms")
    assert mean is not None
    assert (mean.counts, mean.verdict, mean.share_of_step) == (False, "worse", "40% of the step")


def test_device_time_counts_where_it_alone_is_asked_for() -> None:
    gate = decide(gpu_case(share=40.0), gpu_case(1.2, share=40.0), ["device_ms"])
    assert gate.state == "regression"


def test_mean_of_device_times_is_of_those_that_count() -> None:
    def both(factor: float) -> Side:
        [waiting] = gpu_case(factor, share=40.0).values()
        case = replace(waiting.case, config="regional")
        return {**gpu_case(), case.key: replace(waiting, case=case)}

    group = overall(both(1.2), both(1.0))
    mean = group.mean_of("device_ms")
    assert mean is not None
    assert (mean.counts, mean.matched, mean.verdict) == (True, 1, "same")
    assert "device time 20.0% slower" in group.answer.sentence


def test_gpu_time_that_scatters_decides_nothing() -> None:
    new = gpu_case()
    [measured] = new.values()
    measured.samples["device_ms"] = [samples((93.3, 96.5), factor=1.1)]
    group = overall(new)
    assert group.answer.word == "Not enough data"


def test_cpu_time_is_no_second_clock() -> None:
    on_cpu = side({"latency_ms": samples(), "device_ms": samples()})
    judgement = overall(on_cpu, on_cpu).judgement
    assert [finding.metric.key for finding in judgement.findings] == ["latency_ms"]


def test_what_is_known_of_the_step_is_said_where_other_things_are_not() -> None:
    def with_one_start() -> Side:
        given = gpu_case()
        [measured] = given.values()
        measured.samples["cold_start_s"] = [samples((30.0,))]
        return given

    answer = overall(with_one_start(), with_one_start()).answer
    assert answer.word == "No regression found, cold start not known"
    assert "The step of 1 case is at most 0.1% slower, 1 of them by the GPU's" in answer.sentence
    scattered = overall(gpu_case(share=40.0), gpu_case(share=40.0)).answer
    assert "at most" not in scattered.sentence
