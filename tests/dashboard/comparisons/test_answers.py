"""Outcome of two sides: one answer, its sentences, and the change that stands for it."""

from collections.abc import Mapping, Sequence

import pytest

from dashboard.comparisons.core.case_samples import CaseSamples, pool_samples
from dashboard.comparisons.core.case_table import report_with_table
from dashboard.comparisons.core.gate import decide
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key, Side
from dashboard.comparisons.core.upgrade_groups import CaseGroup, UpgradeReport, build_report
from dashboard.judgement.words import ORDER, graded
from dashboard.language.glossary import explain
from dashboard.language.metrics import METRICS
from tests.builders.compared import SHIFTED, STEADY, latency, samples, side

BASE = side({"latency_ms": samples(), "cold_start_s": samples()})


def overall(base: Side, new: Side) -> CaseGroup:
    return build_report(base, new).overall


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ({"latency_ms": samples(SHIFTED, 0.9)}, "better, certain"),
        ({"latency_ms": samples(SHIFTED, 1.1)}, "worse, certain"),
        ({"latency_ms": samples(SHIFTED)}, "same"),
        ({"latency_ms": samples((70.0, 140.0) * 3)}, "unclear"),
        ({"latency_ms": samples(SHIFTED[:3], 1.1)}, "worse, likely"),
        ({"latency_ms": samples(SHIFTED, 1.1, device="other")}, "unclear"),
        (
            {"latency_ms": samples(SHIFTED, 0.9), "cold_start_s": samples(SHIFTED, 1.3)},
            "mixed, certain",
        ),
        (
            {"latency_ms": samples(SHIFTED, 0.9), "cold_start_s": samples((30.0, 300.0) * 3)},
            "unclear",
        ),
    ],
)
def test_answer_is_that_of_all_that_counts(new: dict[str, CaseSamples], words: str) -> None:
    assert graded(overall(BASE, side(new)).answer) == words


@pytest.mark.parametrize(
    ("failures", "words"),
    [({"fail_to_compile": 1}, "worse, certain"), ({"crashed": 1}, "unclear")],
)
def test_case_that_fails_now_is_worse_where_that_is_no_accident(
    failures: dict[str, int], words: str
) -> None:
    assert graded(overall(BASE, side({}, failures=failures)).answer) == words


def test_case_that_passes_now_is_better() -> None:
    assert graded(overall(side({}, failures={"fail_to_compile": 2}), BASE).answer) == (
        "better, certain"
    )


def test_nothing_measured_is_unclear() -> None:
    group = overall(BASE, {})
    assert group.answer.verdict == "unclear"
    assert group.sentences == ("No case was measured on both sides.",)


@pytest.mark.parametrize("word", [*ORDER, "certain", "likely", "pair"])
def test_glossary_explains_every_word_of_an_answer(word: str) -> None:
    assert explain(word)


def test_headline_table_and_gate_say_the_same() -> None:
    new = side({"latency_ms": samples(SHIFTED, 1.1), "cold_start_s": samples(SHIFTED)})
    shown = report_with_table(BASE, new, METRICS["latency_ms"])
    gate = decide(BASE, new)
    assert shown.report.overall.answer == gate.judgement.answer
    assert shown.table.rows[0].change == gate.judgement.decided[0].change


def test_sentences_name_what_changed_and_bound_the_rest() -> None:
    worse = overall(BASE, side({"latency_ms": samples(SHIFTED, 1.1)}))
    assert worse.sentences == ("gpt2 training: latency 10.0% slower (9.5 to 10.6%, 6 pairs).",)
    same = overall(BASE, latency(values=SHIFTED))
    assert same.sentences[0].startswith("No step is more than 0.")


def models(factors: Mapping[str, float], metrics: Sequence[str] = ("latency_ms",)) -> UpgradeReport:
    """Each model's new side by its factor."""
    sides: tuple[dict[Key, CaseMeasurements], dict[Key, CaseMeasurements]] = ({}, {})
    for model, factor in factors.items():
        case = ComparedCase(f"{model}.training", "inductor", model, "llm", "training")
        for measured, values in zip(sides, (samples(), samples(SHIFTED, factor)), strict=True):
            measured[case.key] = CaseMeasurements(case, {key: [values] for key in metrics})
    return build_report(*sides)


def test_headline_counts_models_and_names_the_three_weightiest_with_a_number_each() -> None:
    factors = {"a": 1.1, "b": 1.3, "c": 1.2, "d": 0.8, "e": 0.7, "f": 1.0}
    counts, *named, others, bound = models(factors).overall.sentences
    assert counts == "3 worse, 2 better, 1 same."
    assert [sentence.partition("%")[0] for sentence in named] == [
        "b training: latency 30.0",
        "c training: latency 20.0",
        "a training: latency 10.0",
    ]
    assert others == "2 more models changed."
    assert bound.startswith("No other step is more than")


def test_model_that_fails_stands_for_itself_by_how_it_fails() -> None:
    group = overall(BASE, side({}, failures={"fail_to_compile": 1}))
    assert group.sentences == ("gpt2 training: fails now (inductor: failed to compile).",)


def test_sentence_of_a_headline_has_twelve_words_at_most() -> None:
    report = models({"a": 1.1, "b": 0.9}, ["latency_ms", "cold_start_s", "peak_memory_gb"])
    lengths = {sentence: len(sentence.split()) for sentence in report.overall.sentences}
    assert max(lengths.values()) <= 12, lengths


def test_metrics_of_a_model_have_a_sentence_each() -> None:
    [model] = models({"a": 1.1}, ["latency_ms", "cold_start_s"]).models
    assert [sentence.split("%")[0] for sentence in model.sentences] == [
        "Latency 10.0",
        "Cold start 10.0",
    ]


def test_change_that_stands_for_an_answer_is_certain_before_it_is_large() -> None:
    new = {"latency_ms": samples(SHIFTED, 1.05), "cold_start_s": samples(SHIFTED[:3], 1.9)}
    deciding = overall(BASE, side(new)).deciding_change
    assert deciding
    assert deciding.metric.key == "latency_ms"


def gpu_case(latencies: tuple[float, ...], factor: float = 1.0, share: float = 97.0) -> Side:
    return side(
        {
            "latency_ms": samples(latencies),
            "device_ms": samples(SHIFTED, factor),
            "device_share_percent": samples((share,) * 6),
        }
    )


SCATTERED = (90.0, 150.0, 80.0, 160.0, 95.0, 140.0)  # on a host with neighbours


@pytest.mark.parametrize(("factor", "verdict"), [(1.2, "worse"), (1.0, "same"), (0.8, "better")])
def test_gpus_own_time_decides_where_the_step_that_waits_for_it_is_unclear(
    factor: float, verdict: str
) -> None:
    base, new = gpu_case(SCATTERED), gpu_case(SCATTERED[::-1], factor)
    assert overall(base, new).answer.verdict == verdict


def test_device_time_of_a_step_that_waits_for_the_cpu_has_no_part_in_the_answer() -> None:
    base, new = gpu_case(STEADY, share=40.0), gpu_case(SHIFTED, 1.2, share=40.0)
    group = overall(base, new)
    assert group.answer.verdict == "same"
    [model] = build_report(base, new).models
    assert "Worse, but not counted: device time 20" in model.sentence
    mean = group.mean_of("device_ms")
    assert mean
    assert (mean.counts, mean.share_of_step) == (False, "40% of the step")


def test_device_time_counts_where_it_alone_is_asked_for() -> None:
    base, new = gpu_case(STEADY, share=40.0), gpu_case(SHIFTED, 1.2, share=40.0)
    assert decide(base, new, ["device_ms"]).exit_code == 1


def test_large_change_is_certain_with_two_pairs_where_history_knows_the_spread() -> None:
    """GPT-2's training in 2.11.0 and 2.14.1 on one H200."""
    before, after = samples((46.08, 45.86)), samples((68.63, 68.27))
    unknown = overall(side({"latency_ms": before}), side({"latency_ms": after}))
    assert unknown.answer.verdict == "unclear"
    known = {"latency_ms": 0.03}
    base, new = (side({"latency_ms": each}, widest=known) for each in (before, after))
    assert graded(overall(base, new).answer) == "worse, certain"


@pytest.mark.parametrize(("eager", "verdict"), [(1.0, "unclear"), (2.0, "better")])
def test_memory_that_eager_saves_as_well_has_no_part_in_the_answer(
    eager: float, verdict: str
) -> None:
    def of(change: float) -> Side:
        peaks = {"peak_memory_gb": 0.1 + change, "eager_peak_memory_gb": 1.0 + eager * change}
        return side({key: samples((value,) * 2) for key, value in peaks.items()})

    assert overall(of(0.0), of(-0.0336)).answer.verdict == verdict


def test_mean_of_a_model_has_the_verdict_of_its_cases() -> None:
    both = {"latency_ms": samples()}
    base = {**side(both), **side(both, config="regional")}
    faster = side({"latency_ms": samples(SHIFTED, 0.8)})
    others = {"better": samples(SHIFTED, 0.9), "mixed": samples(SHIFTED, 1.1)}
    for verdict, other in others.items():
        new = {**faster, **side({"latency_ms": other}, config="regional")}
        [model] = build_report(base, new).models
        assert model.steps
        assert model.steps.verdict == verdict


def test_mean_over_all_cases_has_an_interval_of_sessions() -> None:
    base: dict[object, object] = {}
    new: dict[object, object] = {}
    for number in range(4):
        sides = []
        for values, factor in ((STEADY, 1.0), (SHIFTED, 1.1)):
            days = [samples(values, factor, session=f"day {day}") for day in range(3)]
            sides.append(side({"latency_ms": pool_samples(days)}, f"inductor_{number}"))
        base |= sides[0]
        new |= sides[1]
    steps = overall(base, new).steps  # type: ignore[arg-type]
    assert steps
    assert steps.mean.has_interval
    assert graded(steps.mean) == "worse, certain"
