"""Which config for how many steps: by hand-made costs whose answer is known."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dashboard.advisor.core import advice_charts
from dashboard.advisor.core.advice import Advice, advise, by_steps, by_time
from dashboard.advisor.core.advice_text import (
    certainty,
    precise_steps,
    range_start,
    sentence,
    verdict_by_steps,
    verdict_by_time,
)
from dashboard.comparisons.core.ratios import Level, level
from dashboard.comparisons.core.running_costs import METRICS, Option
from dashboard.language.metrics import Start

EAGER_MS = 100.0


def measured(*values: float, error: float = 1e-4) -> Level:
    return level(values, [error] * len(values))


def eager(**more: float) -> Option:
    return Option(
        "eager",
        0,
        {"latency_ms": measured(EAGER_MS)} | {key: measured(one) for key, one in more.items()},
    )


def option(name: str, step_ms: float, cold_start_s: float, **more: float) -> Option:
    """A config whose eager control took EAGER_MS a step."""
    values = {"speedup": EAGER_MS / step_ms, "latency_ms": step_ms, "eager_latency_ms": EAGER_MS}
    values |= {"cold_start_s": cold_start_s, **more}
    assert values.keys() <= {*METRICS}
    return Option(name, 1, {key: measured(value) for key, value in values.items()})


REGIONAL, INDUCTOR = option("regional", 80, 10), option("inductor", 50, 40)


def advice(*options: Option, start: Start = "cold", limit: float | None = None) -> Advice:
    return advise([eager(), *options], start, np.random.default_rng(1), limit)


def used(found: Advice) -> list[str]:
    return [one.candidate.config for one in found.ranges]


def test_a_config_is_ahead_once_its_start_is_paid_back() -> None:
    # eager 0.1 n; regional 10 + 0.08 (n - 1): 0.1 n > 9.92 + 0.08 n from n = 496 on
    (_, regional) = advice(REGIONAL).ranges
    assert regional.from_steps.value == pytest.approx(496)


def test_the_break_even_is_the_one_that_the_suite_writes() -> None:
    """The suite: (cold start - compiled step) / (eager step - compiled step)."""
    (_, regional) = advice(REGIONAL).ranges
    assert regional.from_steps.value == pytest.approx((10_000 - 80) / (100 - 80))


def test_between_two_break_evens_the_cheaper_start_is_used() -> None:
    found = advice(REGIONAL, INDUCTOR)
    assert used(found) == ["eager", "regional", "inductor"]
    assert sentence(found) == (
        "Below 500 steps stay in eager; from 500 to 1\u2009000 use regional; above, use inductor."
    )


def test_a_config_that_another_beats_in_start_and_step_is_never_advised() -> None:
    assert used(advice(option("slow", 90, 60), INDUCTOR)) == ["eager", "inductor"]


def test_the_advised_config_takes_the_least_time_at_every_number_of_steps() -> None:
    found = advice(REGIONAL, INDUCTOR, option("autotune", 48, 300), option("slow", 90, 60))
    for now, then in pairwise([one.from_steps.value for one in found.ranges] + [1e7]):
        middle = math.sqrt(now * then)
        expected = next(one for one in reversed(found.ranges) if one.from_steps.value <= middle)
        assert by_steps(found, middle)[0].candidate is expected.candidate


def test_a_config_that_is_not_faster_is_never_advised() -> None:
    found = advice(option("inductor", 101, 5))
    assert sentence(found) == "Stay in eager: no other config is surely faster."
    assert found.doubts == []


def test_a_step_that_may_be_shorter_is_a_doubt_and_no_advice() -> None:
    blurred = {
        key: measured(one.value, error=0.05)
        for key, one in option("inductor", 98, 5).levels.items()
    }
    found = advice(Option("inductor", 1, blurred))
    assert used(found) == ["eager"]
    assert found.doubts[0].percent.low < 0 < found.doubts[0].percent.high
    assert "measure it more often" in " ".join(certainty(found))


def test_the_interval_of_a_break_even_holds_the_truth_as_often_as_it_says() -> None:
    """Start and speedup measured with known errors around 10 s and 80 ms; the truth is 496
    steps.
    """
    rng, hits, trials = np.random.default_rng(5), 0, 300
    for _ in range(trials):
        step, start = 80 * math.exp(rng.normal(0, 0.02)), 10 * math.exp(rng.normal(0, 0.05))
        levels = {**option("regional", step, start).levels} | {
            "speedup": measured(EAGER_MS / step, error=0.02),
            "cold_start_s": measured(start, error=0.05),
        }
        found = advise([eager(), Option("regional", 1, levels)], "cold", rng)
        hits += any(one.from_steps.low <= 496 <= one.from_steps.high for one in found.ranges[1:])
    assert 0.91 < hits / trials < 0.99


def test_the_spread_between_processes_is_taken_where_there_are_repeats() -> None:
    """Within each process exact, between them ± 10 %: the interval must tell the latter."""
    levels = {**REGIONAL.levels, "cold_start_s": level([9.0, 10.0, 11.0], [1e-4] * 3)}
    (_, regional) = advice(Option("regional", 1, levels)).ranges
    assert regional.from_steps.high / regional.from_steps.low > 1.3
    assert regional.candidate.bases[0] == "repeats"


def test_a_start_that_was_measured_once_is_not_taken_for_exact() -> None:
    levels = {**REGIONAL.levels, "cold_start_s": level([10.0])}
    found = advice(Option("regional", 1, levels))
    assert found.ranges[1].from_steps.low < 420
    assert "Starts that were measured once are taken to repeat within ± 20 %." in certainty(found)


def test_what_slows_a_whole_process_favours_no_config() -> None:
    """Of two alike configs one was measured in a process in which everything took twice as long."""
    slow = {**REGIONAL.levels} | {"latency_ms": measured(160), "eager_latency_ms": measured(200)}
    found = advice(REGIONAL, Option("again", 2, slow))
    one, other = (one.step_s for one in found.candidates[1:])
    assert one == pytest.approx(other)


def test_a_cheaper_kind_of_start_brings_the_break_even_forward() -> None:
    regional = option("regional", 80, 10, warm_start_s=1, restored_start_s=2)
    cold, warm, restored = (
        advice(regional, start=start).ranges[1] for start in ("cold", "warm", "restored")
    )
    assert warm.from_steps.value < restored.from_steps.value < cold.from_steps.value


def test_a_start_that_was_not_measured_is_said_to_be_missing() -> None:
    found = advice(REGIONAL, start="warm")
    assert sentence(found) == "Not known: no config has a warm start that was measured."
    assert [(one.config, one.text) for one in found.left_out] == [
        ("regional", "its warm start was not measured")
    ]


def test_a_config_that_needs_more_memory_than_there_is_is_left_out() -> None:
    found = advice(
        option("regional", 80, 10, peak_memory_gb=30.0),
        option("inductor", 50, 40, peak_memory_gb=9.0),
        limit=24.0,
    )
    assert "it needs 30 GB, and 24 GB are allowed" in [one.text for one in found.left_out]
    assert "regional" not in used(found)


def test_memory_while_compiling_counts_too() -> None:
    greedy = option("inductor", 50, 40, peak_memory_gb=9.0, compile_peak_memory_gb=30.0)
    assert "inductor" not in used(advice(greedy, limit=24.0))


def test_memory_that_was_not_measured_cannot_be_promised_to_fit() -> None:
    assert "not known whether it fits" in advice(REGIONAL, limit=24.0).left_out[-1].text


def test_where_eager_does_not_fit_another_config_is_used_from_the_first_step() -> None:
    options = [eager(peak_memory_gb=30.0), option("regional", 80, 10, peak_memory_gb=9.0)]
    found = advise(options, "cold", np.random.default_rng(1), 24.0)
    assert sentence(found) == "Use regional from the first step."


def test_without_an_eager_arm_a_config_is_judged_by_its_own_steps() -> None:
    levels = {"latency_ms": measured(50), "cold_start_s": measured(40)}
    found = advise(
        [Option("eager", 0, {}, "it ended in oom"), Option("inductor", 1, levels)],
        "cold",
        np.random.default_rng(1),
    )
    assert used(found) == ["inductor"]
    assert found.left_out[0].text == "it ended in oom"


def test_a_failed_config_is_left_out_with_its_status() -> None:
    found = advice(Option("inductor", 1, {}, "it ended in fail_accuracy"))
    assert found.left_out[0].reason == "failed"
    assert sentence(found) == "Stay in eager: nothing else that was measured can be used."


def test_nothing_measured_gives_no_advice() -> None:
    found = advise([], "cold", np.random.default_rng(1))
    assert sentence(found) == "Nothing that was measured can be used: the reasons are below."


def test_for_a_number_of_steps_the_soonest_is_first_and_its_lead_is_told() -> None:
    ranked = by_steps(advice(REGIONAL, INDUCTOR), 5000)
    assert (
        verdict_by_steps(ranked, 5000)
        == "5\u2009000 steps: inductor, done in 4 min 50 s, 3 min 30 s sooner than eager."
    )


def test_for_a_time_the_one_with_most_steps_is_first() -> None:
    ranked = by_time(advice(REGIONAL, INDUCTOR), 3600)
    assert (
        verdict_by_time(ranked, 3600)
        == "1 h: inductor does 71\u2009200 steps, 98 % more than eager."
    )


def test_a_run_that_ends_within_the_start_has_done_no_step() -> None:
    ranked = {row.candidate.config: row.amount.value for row in by_time(advice(REGIONAL), 5)}
    assert ranked == {"eager": 50, "regional": 0}


def test_chances_of_being_the_best_add_up_to_one() -> None:
    rows = by_steps(advice(REGIONAL, INDUCTOR), 1001)
    assert sum(row.chance for row in rows) == pytest.approx(1)
    assert max(row.chance for row in rows) < 1  # 1 001 steps are their break-even


def test_a_near_tie_is_told_with_its_chance() -> None:
    assert "% sure; else" in verdict_by_steps(by_steps(advice(REGIONAL, INDUCTOR), 1001), 1001)


def test_the_same_draws_give_the_same_advice() -> None:
    assert range_start(advice(REGIONAL).ranges[1]) == range_start(advice(REGIONAL).ranges[1])


@pytest.mark.parametrize(
    ("count", "text"), [(1, "1"), (9_999, "9\u2009999"), (135_918, "136\u2009000"), (math.inf, "∞")]
)
def test_numbers_of_steps_have_the_digits_that_count(count: float, text: str) -> None:
    assert precise_steps(count) == text


def test_the_figure_marks_each_break_even_on_the_line_that_gets_ahead() -> None:
    found = advice(REGIONAL, INDUCTOR)
    marks = next(
        trace for trace in advice_charts.figure(found)["data"] if trace.get("name") == "break-even"
    )
    assert list(marks["x"]) == [one.from_steps.value for one in found.ranges[1:]]
    assert marks["y"] == pytest.approx(
        [
            0.1 * steps if place == 0 else 0.08 * steps + 9.92
            for place, steps in enumerate(marks["x"])
        ]
    )


def test_against_eager_its_own_line_is_one() -> None:
    figure = advice_charts.figure(advice(REGIONAL), relative=True)
    line = next(trace for trace in figure["data"] if trace.get("name") == "eager")
    assert np.allclose(line["y"], 1)


def test_a_horizon_lies_within_the_figure() -> None:
    assert advice_charts.axis(advice(REGIONAL), horizon=1e6)[-1] > 1e6
