"""Choice of a config for a number of steps: by hand-made costs whose answer is known."""

import math
from itertools import pairwise

import numpy as np
import pytest

from benchmarks_suite.configs import CONFIGS
from dashboard.advisor.core.advice import Advice, advise, by_steps, by_time
from dashboard.advisor.core.advice_text import (
    certainty,
    precise_steps,
    range_start,
    sentence,
    verdict_by_steps,
    verdict_by_time,
)
from dashboard.comparisons.core.levels import Level, level_of
from dashboard.comparisons.core.running_costs import COST_METRICS, Option
from dashboard.language.metrics import CHECK_CONFIGS, Start

EAGER_MS = 100.0


def measured(*values: float, error: float = 1e-4) -> Level:
    return level_of(values, [error] * len(values))


def eager(**more: float) -> Option:
    values = {"latency_ms": EAGER_MS, **more}
    return Option("eager", 0, {key: measured(value) for key, value in values.items()})


def option(name: str, step_ms: float, cold_start_s: float, **more: float) -> Option:
    """A config whose eager control took EAGER_MS a step."""
    values = {
        "speedup": EAGER_MS / step_ms,
        "latency_ms": step_ms,
        "eager_latency_ms": EAGER_MS,
    }
    values |= {"cold_start_s": cold_start_s, **more}
    assert values.keys() <= {*COST_METRICS}
    return Option(name, 1, {key: measured(value) for key, value in values.items()})


REGIONAL, INDUCTOR = option("regional", 80, 10), option("inductor", 50, 40)


def make_advice(*options: Option, start: Start = "cold", limit: float | None = None) -> Advice:
    return advise([eager(), *options], start, np.random.default_rng(1), limit)


def used(advice: Advice) -> list[str]:
    return [step_range.config for step_range in advice.ranges]


def test_config_is_ahead_once_its_start_is_paid_back() -> None:
    # eager 0.1 n; regional 10 + 0.08 (n - 1): 0.1 n > 9.92 + 0.08 n from n = 496 on
    (_, regional) = make_advice(REGIONAL).ranges
    assert regional.from_steps.value == pytest.approx(496)


def test_break_even_is_the_one_that_the_suite_writes() -> None:
    """The suite: (cold start - compiled step) / (eager step - compiled step)."""
    (_, regional) = make_advice(REGIONAL).ranges
    assert regional.from_steps.value == pytest.approx((10_000 - 80) / (100 - 80))


def test_between_two_break_evens_the_cheaper_start_is_used() -> None:
    advice = make_advice(REGIONAL, INDUCTOR)
    assert used(advice) == ["eager", "regional", "inductor"]
    assert sentence(advice) == (
        "Below 500 steps stay in eager; from 500 to 1,000 use regional; above, use inductor."
    )


def test_config_beaten_in_start_and_step_is_never_advised() -> None:
    assert used(make_advice(option("slow", 90, 60), INDUCTOR)) == ["eager", "inductor"]


def test_advised_config_takes_the_least_time_at_every_number_of_steps() -> None:
    advice = make_advice(REGIONAL, INDUCTOR, option("autotune", 48, 300), option("slow", 90, 60))
    starts = [step_range.from_steps.value for step_range in advice.ranges]
    for step_range, (start, end) in zip(advice.ranges, pairwise([*starts, 1e7]), strict=True):
        soonest = by_steps(advice, math.sqrt(start * end))[0]
        assert soonest.candidate is step_range.candidate


def test_config_that_is_not_faster_is_never_advised() -> None:
    advice = make_advice(option("inductor", 101, 5))
    assert sentence(advice) == (
        "Stay in eager: no surely faster config among those measured (inductor)."
    )
    assert advice.doubts == []


def test_step_that_may_be_shorter_is_a_doubt_and_not_advised() -> None:
    exact = option("inductor", 98, 5).levels
    blurred = {key: measured(level.value, error=0.05) for key, level in exact.items()}
    advice = make_advice(Option("inductor", 1, blurred))
    assert used(advice) == ["eager"]
    assert advice.doubts[0].percent.low < 0 < advice.doubts[0].percent.high
    assert "measure it more often" in " ".join(certainty(advice))


def test_two_starts_that_agree_by_chance_are_no_surer_than_recorded_ones() -> None:
    def widths(starts: list[float]) -> float:
        levels = {**INDUCTOR.levels, "cold_start_s": level_of(starts, [1e-6] * len(starts))}
        start = make_advice(Option("inductor", 1, levels)).candidates[1].start
        return start.high / start.low

    assert 1.4 < widths([20.0, 20.1]) < 1.8
    assert widths([20.0, 20.1] * 8) < 1.15


def test_step_that_may_be_much_shorter_leaves_the_advice_open() -> None:
    levels = {**INDUCTOR.levels, "speedup": measured(2.0, error=0.5)}
    advice = make_advice(Option("inductor", 1, levels))
    assert sentence(advice) == "Not decided: inductor may be faster (50.0% at the best estimate)."


def vague(name: str, step_ms: float, cold_start_s: float) -> Option:
    """Two starts, one of them many times as long: how long one takes is hardly known."""
    levels = option(name, step_ms, cold_start_s).levels
    starts = level_of([cold_start_s / 4, cold_start_s * 4], [1e-4] * 2)
    return Option(name, 1, {**levels, "cold_start_s": starts})


def test_break_even_whose_interval_says_nothing_is_not_given() -> None:
    advice = make_advice(vague("inductor", 50, 40))
    assert sentence(advice) == (
        "In the long run inductor pays off; after how many steps is not known: measure more often."
    )
    assert range_start(advice.ranges[1]) == "not known"
    assert "what was measured does not show when" in certainty(advice)[0]


def test_break_even_that_is_known_is_given_before_one_that_is_not() -> None:
    ranges = make_advice(REGIONAL).ranges
    late = make_advice(vague("inductor", 50, 40)).ranges[1:]
    assert sentence(Advice("cold", ranges + late)) == (
        "Below 500 steps stay in eager; above, use regional. "
        "In the long run inductor pays off; after how many steps is not known: measure more often."
    )


def test_break_even_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Start and speedup measured with known errors around 10 s and 80 ms; the truth is 496
    steps.
    """
    rng = np.random.default_rng(5)
    hits, trials = 0, 300
    for _ in range(trials):
        step = 80 * math.exp(rng.normal(0, 0.02))
        start = 10 * math.exp(rng.normal(0, 0.05))
        levels = {
            **option("regional", step, start).levels,
            "speedup": measured(EAGER_MS / step, error=0.02),
            "cold_start_s": measured(start, error=0.05),
        }
        advice = advise([eager(), Option("regional", 1, levels)], "cold", rng)
        for step_range in advice.ranges[1:]:
            hits += step_range.from_steps.low <= 496 <= step_range.from_steps.high
    assert 0.91 < hits / trials < 0.99


def test_spread_between_processes_is_used_where_there_are_repeats() -> None:
    """Within each process exact, between them ± 10%: the interval must show the latter."""
    levels = {**REGIONAL.levels, "cold_start_s": level_of([9.0, 10.0, 11.0], [1e-4] * 3)}
    [_, regional] = make_advice(Option("regional", 1, levels)).ranges
    assert regional.from_steps.high / regional.from_steps.low > 1.3
    assert regional.candidate.bases[0] == "repeats"


def test_repeats_that_agree_are_repeats_though_the_spread_within_each_is_wider() -> None:
    levels = {**REGIONAL.levels, "speedup": level_of([1.25, 1.2501], [0.02, 0.02])}
    advice = make_advice(Option("regional", 1, levels))
    assert advice.ranges[1].candidate.bases[1] == "repeats"
    assert "in one process" not in " ".join(certainty(advice))


def test_start_that_was_measured_once_is_not_taken_as_exact() -> None:
    levels = {**REGIONAL.levels, "cold_start_s": level_of([10.0])}
    advice = make_advice(Option("regional", 1, levels))
    assert advice.ranges[1].from_steps.low < 420
    once = "Starts that were measured once are taken to repeat within ± 28%, as recorded ones did."
    assert once in certainty(advice)


def test_what_slows_a_whole_process_favours_no_config() -> None:
    """Two configs are alike, but one was measured in a process where all took twice as long."""
    slow = {"latency_ms": measured(160), "eager_latency_ms": measured(200)}
    again = Option("again", 2, {**REGIONAL.levels, **slow})
    first, second = make_advice(REGIONAL, again).candidates[1:]
    assert first.step_s == pytest.approx(second.step_s)


def test_cheaper_kind_of_start_lowers_the_break_even() -> None:
    regional = option("regional", 80, 10, warm_start_s=1, restored_start_s=2)
    cold = make_advice(regional).ranges[1].from_steps
    warm = make_advice(regional, start="warm").ranges[1].from_steps
    restored = make_advice(regional, start="restored").ranges[1].from_steps
    assert warm.value < restored.value < cold.value


def test_start_that_was_not_measured_is_reported_missing() -> None:
    advice = make_advice(REGIONAL, start="warm")
    assert sentence(advice) == "Not known: no config has a warm start that was measured."
    (excluded,) = advice.left_out
    assert excluded.config == "regional"
    assert excluded.text == "its warm start was not measured"


def without_start(name: str, step_ms: float, **more: float) -> Option:
    levels = option(name, step_ms, 1.0, **more).levels
    kept = {key: level for key, level in levels.items() if key != "cold_start_s"}
    return Option(name, 2, kept)


def test_shorter_step_without_a_measured_start_is_named_and_not_ranked() -> None:
    advice = make_advice(INDUCTOR, without_start("graphs", 20))
    assert used(advice) == ["eager", "inductor"]
    text = "A step of graphs takes 20.0 ms, 60% less than one of inductor at the best estimate; its"
    assert text in " ".join(certainty(advice))


def test_of_several_without_a_start_the_shortest_is_told_and_the_rest_are_named() -> None:
    advice = make_advice(INDUCTOR, without_start("graphs", 20), without_start("wrapper", 30))
    said = " ".join(certainty(advice))
    assert "A step of graphs takes 20.0 ms" in said
    assert "A step of wrapper" not in said
    assert "are not ranked for the same reason: wrapper." in said


def test_longer_step_without_a_measured_start_is_not_named() -> None:
    assert make_advice(INDUCTOR, without_start("graphs", 60)).unranked == []


def test_config_without_a_start_that_does_not_fit_is_not_named() -> None:
    greedy = without_start("graphs", 20, peak_memory_gb=30.0)
    small = eager(peak_memory_gb=1.0)
    advice = advise([small, greedy], "cold", np.random.default_rng(1), 24.0)
    assert advice.unranked == []


def test_config_beyond_the_memory_limit_is_left_out() -> None:
    advice = make_advice(
        option("regional", 80, 10, peak_memory_gb=30.0),
        option("inductor", 50, 40, peak_memory_gb=9.0),
        limit=24.0,
    )
    reasons = [excluded.text for excluded in advice.left_out]
    assert "it needs 30 GB, and 24 GB are allowed" in reasons
    assert "regional" not in used(advice)


def test_memory_while_compiling_counts_too() -> None:
    greedy = option("inductor", 50, 40, peak_memory_gb=9.0, compile_peak_memory_gb=30.0)
    assert "inductor" not in used(make_advice(greedy, limit=24.0))


def test_config_with_unknown_memory_is_left_out_under_a_limit() -> None:
    assert "not known whether it fits" in make_advice(REGIONAL, limit=24.0).left_out[-1].text


def test_another_config_is_used_from_the_first_step_where_eager_does_not_fit() -> None:
    options = [eager(peak_memory_gb=30.0), option("regional", 80, 10, peak_memory_gb=9.0)]
    advice = advise(options, "cold", np.random.default_rng(1), 24.0)
    assert sentence(advice) == "Use regional from the first step."


def test_config_without_an_eager_arm_is_judged_by_its_own_steps() -> None:
    levels = {"latency_ms": measured(50), "cold_start_s": measured(40)}
    options = [Option("eager", 0, {}, "it ended in oom"), Option("inductor", 1, levels)]
    advice = advise(options, "cold", np.random.default_rng(1))
    assert used(advice) == ["inductor"]
    assert advice.left_out[0].text == "it ended in oom"


def test_failed_config_is_left_out_with_its_status() -> None:
    advice = make_advice(Option("inductor", 1, {}, "it ended in fail_accuracy"))
    assert advice.left_out[0].reason == "failed"
    assert sentence(advice) == "Stay in eager: nothing else that was measured can be used."


def test_check_is_never_advised_however_fast() -> None:
    advice = make_advice(REGIONAL, option("inductor_fail_on_recompile", 50, 40))
    assert used(advice) == ["eager", "regional"]
    assert advice.left_out[0].text == "a check, not a way to run"


def test_every_check_is_a_config_of_the_suite() -> None:
    assert {*CONFIGS} >= CHECK_CONFIGS


def test_nothing_measured_gives_no_advice() -> None:
    advice = advise([], "cold", np.random.default_rng(1))
    assert sentence(advice) == "Nothing that was measured can be used: the reasons are below."


def test_verdict_for_steps_names_the_soonest_and_its_lead() -> None:
    ranked = by_steps(make_advice(REGIONAL, INDUCTOR), 5000)
    verdict = "5,000 steps: inductor, done in 4 min 50 s, 3 min 30 s sooner than eager."
    assert verdict_by_steps(ranked, 5000) == verdict


def test_verdict_for_a_time_names_the_one_with_most_steps() -> None:
    ranked = by_time(make_advice(REGIONAL, INDUCTOR), 3600)
    verdict = "1 h: inductor does 71,200 steps, 98% more than eager."
    assert verdict_by_time(ranked, 3600) == verdict


def test_run_that_ends_within_the_start_has_done_no_step() -> None:
    steps = {row.config: row.amount.value for row in by_time(make_advice(REGIONAL), 5)}
    assert steps == {"eager": 50, "regional": 0}


def test_chances_of_being_the_best_add_up_to_one() -> None:
    rows = by_steps(make_advice(REGIONAL, INDUCTOR), 1001)
    assert sum(row.chance for row in rows) == pytest.approx(1)
    assert max(row.chance for row in rows) < 1  # 1 001 steps are their break-even


def test_verdict_on_a_near_tie_has_its_chance() -> None:
    ranked = by_steps(make_advice(REGIONAL, INDUCTOR), 1001)
    assert "% sure; else" in verdict_by_steps(ranked, 1001)


def test_same_draws_give_the_same_advice() -> None:
    first = make_advice(REGIONAL).ranges[1]
    second = make_advice(REGIONAL).ranges[1]
    assert range_start(first) == range_start(second)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1"),
        (9_999, "9,999"),
        (135_918, "136,000"),
        (math.inf, "∞"),
    ],
)
def test_numbers_of_steps_have_the_digits_that_count(count: float, text: str) -> None:
    assert precise_steps(count) == text
