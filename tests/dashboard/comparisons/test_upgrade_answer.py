"""A judgement in words: the headline, its sentence, and that headline, table and gate agree."""

from dataclasses import replace

import pytest

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.case_table import report_with_table
from dashboard.comparisons.core.gate import decide
from dashboard.comparisons.core.judgement import JUDGED_METRICS
from dashboard.comparisons.core.matching import (
    CaseMeasurements,
    ComparedCase,
    Key,
    Side,
)
from dashboard.comparisons.core.upgrade_answer import VERDICTS
from dashboard.comparisons.core.upgrade_groups import UNJUDGED_METRICS, build_report
from dashboard.language.glossary import explain
from dashboard.language.metrics import METRICS
from tests.builders.compared import latency, samples, side


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (side({"latency_ms": samples(factor=0.9), "cold_start_s": samples()}), "Move"),
        (side({"latency_ms": samples(factor=0.9)}), "Move, cold start not known"),
        (side({"latency_ms": samples(factor=1.1)}), "Stay"),
        (
            side({"latency_ms": samples(), "cold_start_s": samples(factor=1.3)}),
            "Longer cold start",
        ),
        (
            side({"latency_ms": samples(factor=1.1), "cold_start_s": samples(factor=1.3)}),
            "Stay",
        ),
        (side({"latency_ms": samples(), "cold_start_s": samples()}), "No change"),
        (side({"latency_ms": samples()}), "No regression found, cold start not known"),
        (
            side({"latency_ms": samples(factor=0.9), "cold_start_s": samples(factor=1.3)}),
            "Move, at a cost",
        ),
        (
            side({"latency_ms": samples(factor=1.1), "cold_start_s": samples(factor=0.7)}),
            "It depends",
        ),
        (
            side({"latency_ms": samples((90.0, 110.0)), "cold_start_s": samples(factor=0.7)}),
            "Not enough data",
        ),
        (
            side({"latency_ms": samples((98.0, 102.0) * 3), "cold_start_s": samples(factor=0.7)}),
            "Move",
        ),
        (
            side({"latency_ms": samples((98.0, 102.0) * 3), "cold_start_s": samples()}),
            "No regression found",
        ),
        (
            side({"latency_ms": samples((98.0, 102.0) * 3)}),
            "No regression found, cold start not known",
        ),
        (side({}, failures={"crashed": 1}), "Not enough data"),
        (side({}, failures={"fail_to_compile": 1}), "Stay: new failures"),
        ({}, "Not enough data"),
    ],
)
def test_answer_in_a_word(new: Side, word: str) -> None:
    base = side({"latency_ms": samples(), "cold_start_s": samples()})
    assert build_report(base, new).overall.answer.word == word


@pytest.mark.parametrize("word", VERDICTS)
def test_glossary_explains_every_answer(word: str) -> None:
    assert explain(word)


FASTER = {"latency_ms": samples(factor=0.9)}
SMALLER = {"latency_ms": samples(), "peak_memory_gb": samples(factor=0.7)}


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (FASTER | {"cold_start_s": samples((100.0,))}, "Move, cold start not known"),
        (FASTER | {"cold_start_s": samples((300.0,))}, "Move, cold start not known"),
        (FASTER | {"cold_start_s": samples((60.0, 140.0) * 3)}, "Move, cold start not known"),
        (FASTER | {"cold_start_s": samples((130.0, 131.0))}, "Move, cold start not known"),
        (SMALLER | {"cold_start_s": samples((130.0, 131.0))}, "Not enough data"),  # may depend
        (FASTER | {"peak_memory_gb": samples((100.0,))}, "Not enough data"),
        (
            {"latency_ms": samples(), "cold_start_s": samples((100.0,))},
            "No regression found, cold start not known",
        ),
        (
            {"latency_ms": samples(), "cold_start_s": samples((130.0, 131.0))},
            "Not enough data",
        ),
        ({"cold_start_s": samples((100.0,))}, "Not enough data"),  # no step is known
    ],
)
def test_start_that_is_not_known_is_said_next_to_steps_that_are(
    new: dict[str, CaseSamples], word: str
) -> None:
    base = dict.fromkeys(("latency_ms", "cold_start_s", "peak_memory_gb"), samples())
    group = build_report(side(base), side(new)).overall
    assert group.answer.word == word
    assert group.shortfall is not None
    assert decide(side(base), side(new)).state == "unknown"


@pytest.mark.parametrize(
    ("with_starts", "said"),
    [
        ((), ["The cold start was not measured on both sides."]),
        (("inductor",), ["The cold start of 1 case was not measured on both sides."]),
        (("inductor", "regional"), []),
    ],
)
def test_cases_without_a_cold_start_are_said(with_starts: tuple[str, ...], said: list[str]) -> None:
    cases: Side = {}
    for config in ("inductor", "regional", "eager"):
        metrics = ["latency_ms", *(["cold_start_s"] if config in with_starts else [])]
        cases = {**cases, **side(dict.fromkeys(metrics, samples()), config)}
    sentences = build_report(cases, cases).overall.answer.sentences
    assert [each for each in sentences if each.startswith("The cold start")] == said


def test_case_is_named_once_where_several_of_its_metrics_got_worse() -> None:
    base = side({"latency_ms": samples(), "cold_start_s": samples()})
    new = side({"latency_ms": samples(factor=1.2), "cold_start_s": samples(factor=1.3)})
    worse = build_report(base, new).overall.answer.sentences[0]
    assert worse.count("gpt2.training inductor") == 1
    assert "cold start 30.0% longer" in worse
    assert "20.0% slower" in worse


def test_suspected_slower_step_leaves_no_clear_yes() -> None:
    two = (100.0, 100.1)
    base = {
        **side({"latency_ms": samples(), "cold_start_s": samples()}),
        **side({"latency_ms": samples(two)}, "regional"),
    }
    new = {
        **side({"latency_ms": samples(factor=0.9), "cold_start_s": samples(factor=1.3)}),
        **side({"latency_ms": samples(two, factor=1.4)}, "regional"),
    }
    answer = build_report(base, new).overall.answer
    assert answer.word == "It depends"
    worse, suspected = answer.sentences[:2]
    assert worse.startswith("Worse: gpt2.training inductor cold start 30.0% longer (")
    assert suspected.startswith(
        "Suspected, not certain: gpt2.training regional latency 40.0% slower ("
    )


def test_answer_in_a_sentence_names_gain_cost_and_failures() -> None:
    base = {
        **side({"latency_ms": samples(), "cold_start_s": samples()}),
        **side({"latency_ms": samples()}, "regional"),
    }
    new = {
        **side({"latency_ms": samples(factor=0.9), "cold_start_s": samples(factor=1.3)}),
        **side({}, "regional", {"fail_to_compile": 3}),
    }
    sentence = build_report(base, new).overall.answer.sentence
    assert sentence.startswith(
        "1 case that passed now fails: gpt2.training regional (failed to compile). Worse: "
        "gpt2.training inductor cold start 30.0% longer ("
    )
    assert "Better: gpt2.training inductor latency 10.0% faster (" in sentence


def test_headline_table_and_gate_are_one_judgement() -> None:
    """Ten of sixty cases 5% slower are no "No change"."""
    base, new = {}, {}
    for number in range(60):
        case = ComparedCase(f"m{number}.training", "inductor", f"m{number}", "llm", "training")
        case = replace(case, place=(number, 0))
        factor = 1.05 if number < 10 else 1.0
        start = {"cold_start_s": [samples()]}
        base[case.key] = CaseMeasurements(case, {"latency_ms": [samples()], **start})
        new[case.key] = CaseMeasurements(case, {"latency_ms": [samples(factor=factor)], **start})
    report = build_report(base, new)
    assert report.overall.answer.word == "Stay"
    assert len(report.latency.significant) == 10
    assert decide(base, new).state == "regression"
    assert [group.answer.word for group in report.models[:11]] == ["Stay"] * 10 + ["No change"]


def _with_breaks(*counts: float) -> Side:
    return side({"latency_ms": samples(), "graph_breaks": samples(counts)})


def test_one_more_graph_break_is_a_regression_by_default() -> None:
    base, new = _with_breaks(1.0, 1.0), _with_breaks(2.0, 2.0)
    assert decide(base, new).state == "regression"
    sentence = build_report(base, new).overall.answer.sentence
    assert "Worse: gpt2.training inductor graph breaks 1 more." in sentence


@pytest.mark.parametrize("count", [0.0, 1.0])
def test_as_many_graph_breaks_are_no_regression(count: float) -> None:
    noisy = {"latency_ms": samples((98.0, 102.0) * 3), "graph_breaks": samples((count, count))}
    report = build_report(_with_breaks(count, count), side(noisy))
    assert report.overall.answer.word == "No regression found, cold start not known"
    assert "most room for it: latency of gpt2.training" in report.overall.answer.sentence


def test_sentence_counts_what_was_measured_by_one_process_a_side() -> None:
    single = {"latency_ms": samples((90.0, 110.0)), "graph_breaks": samples((1.0,))}
    sentence = build_report(side(single), side(single)).overall.answer.sentence
    open_ones = "2 of 2 results could still hide a large regression in latency and graph breaks"
    assert f"{open_ones} (one process on a side: 1 of them)" in sentence


def test_compile_calls_are_shown_and_no_part_of_the_answer() -> None:
    base = side({"latency_ms": samples(), "compile_calls": samples((9e6, 9e6))})
    new = side({"latency_ms": samples(), "compile_calls": samples((12e6, 12e6))})
    report = build_report(base, new)
    for group in (report.overall, *report.models):
        assert group.compile_calls is not None
        assert group.compile_calls.verdict == "worse"
        alone = build_report(latency(), latency()).overall.answer
        assert (group.answer.word, group.answer.tone) == (alone.word, alone.tone)
        assert group.answer.sentences[:-1] == alone.sentences
        assert group.answer.sentences[-1] == (
            "Worse for certain, but not counted towards the verdict: compile calls 33.3% higher."
        )
    assert build_report(latency(), latency()).overall.compile_calls is None


def test_what_got_worse_and_does_not_count_is_named_with_how_many_cases() -> None:
    """One percent more host memory is below its threshold and does not count as worse."""
    base: Side = {}
    new: Side = {}
    metrics = "latency_ms", "cold_start_s", "overhead_us", "host_memory_gb"
    unchanged = dict.fromkeys(metrics, samples())
    for config, memory_factor in (("inductor", 1.1), ("regional", 1.01)):
        grown = {
            "overhead_us": samples(factor=1.8),
            "host_memory_gb": samples(factor=memory_factor),
        }
        base = {**base, **side(unchanged, config)}
        new = {**new, **side(unchanged | grown, config)}
    overall = build_report(base, new).overall
    assert overall.answer.word == "No change"
    assert "Nothing that counts towards the verdict got significantly worse." in (
        overall.answer.sentences
    )
    assert overall.answer.sentences[-1] == (
        "Worse for certain, but not counted towards the verdict: call overhead in 2 of 2 cases, "
        "host memory in 1 of 2 cases."
    )


def test_what_got_better_and_does_not_count_is_named_after_what_got_worse() -> None:
    unchanged = dict.fromkeys(("latency_ms", "cold_start_s", "overhead_us", "host_ms"), samples())
    changed = {"overhead_us": samples(factor=1.8), "host_ms": samples(factor=0.5)}
    answer = build_report(side(unchanged), side(unchanged | changed)).overall.answer
    assert answer.word == "No change"
    worse, better = answer.sentences[-2:]
    assert worse.startswith(
        "Worse for certain, but not counted towards the verdict: call overhead 80.0% higher ("
    )
    assert better.startswith(
        "Better for certain, but not counted towards the verdict: host time 50.0% faster ("
    )


@pytest.mark.parametrize("metric", UNJUDGED_METRICS)
def test_what_does_not_count_is_judged_as_its_own_table_is(metric: str) -> None:
    """Five processes a side are too few for a change to be certain."""
    few = (100.0, 100.3, 99.8, 100.1, 99.9)
    base = side({"latency_ms": samples(), metric: samples(few)})
    new = side({"latency_ms": samples(), metric: samples(few, 1.5)})
    shown = report_with_table(base, new, METRICS[metric])
    assert [row.effect.verdict for row in shown.table.rows] == ["unknown"]
    assert "not counted" not in shown.report.overall.answer.sentence


def test_glossary_names_all_that_counts_towards_the_verdict() -> None:
    for metric in JUDGED_METRICS:
        assert METRICS[metric].label.lower() in explain("verdict").lower()


def test_wrong_gradients_are_called_so() -> None:
    base = side({"latency_ms": samples()})
    new = side({}, failures={"fail_accuracy": 3})
    [measured] = new.values()
    measured.messages["fail_accuracy"] = (
        "The compiled result is further from float64 than allowed: gradients: 0.58"
    )
    sentence = build_report(base, new).overall.answer.sentence
    assert "now fails: gpt2.training inductor (wrong gradients)." in sentence


@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("configs", [("inductor",), ("inductor", "regional")])
def test_eager_that_changed_decides_nothing(configs: tuple[str, ...], factor: float) -> None:
    """All of eager's controls moved, and no compiled step did: the speedups make up for it."""
    base: dict[Key, CaseMeasurements] = {}
    new: dict[Key, CaseMeasurements] = {}
    for config in configs:
        both = dict.fromkeys(("latency_ms", "cold_start_s"), samples())
        both["speedup"] = samples((2.0,) * 6)
        base |= side({**both, "eager_latency_ms": samples(factor=2)}, config=config)
        moved = {"eager_latency_ms": samples(factor=2 * factor)}
        new |= side({**both, **moved, "speedup": samples((2.0 * factor,) * 6)}, config=config)
    answer = build_report(base, new).overall.answer
    assert answer.word == "No change"


def test_the_same_keeps_the_interval_that_it_rests_on() -> None:
    """Three processes a side whose means agree better than they do."""
    base, new = latency(values=(99.0, 100.0, 101.0) * 2), latency(values=(101.0, 100.0, 99.0) * 2)
    [row] = build_report(base, new).latency.rows
    assert row.effect.verdict == "same"
    assert row.effect.change.text.startswith("0.0% (")
    [exact] = build_report(latency(values=(100.0,) * 6), latency(values=(100.0,) * 6)).latency.rows
    assert exact.effect.change.text == "unchanged"


def test_a_step_that_is_known_is_bounded_by_its_own_clock() -> None:
    def with_start(device: tuple[float, ...]) -> Side:
        steady, busy = samples((100.0, 100.1) * 3), samples((97.0,) * 6)
        metrics = {"latency_ms": steady, "device_ms": samples(device), "device_share_percent": busy}
        return side({**metrics, "cold_start_s": samples((30.0,))})

    wide = (97.0, 98.5, 96.5, 97.5, 98.0, 96.0)
    sentence = build_report(with_start(wide), with_start(wide)).overall.answer.sentence
    assert "The step of 1 case is at most 0.1% slower." in sentence
