"""Sampling: the arms in balanced random order, an end by target or budget, whole passes over the
batches.
"""

import random
import time
from itertools import islice
from typing import Any

import pytest
import torch

from benchmarks_suite.harness import timing
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.workload import Inputs

BATCHES: list[Inputs] = [{"x": 1}]


def an_arm(name: str, ms: float = 0.2) -> Arm:
    """Sleeps: a step whose length is known."""
    return Arm(name, torch.nn.Identity(), lambda batch: time.sleep(ms / 1000), None, lambda: None)


def a_stopwatch(batches: list[Inputs] = BATCHES) -> timing.Stopwatch:
    return timing.Stopwatch(torch.device("cpu"), batches)


def interleaved(count: int, seed: int = 0) -> list[str]:
    arms = [an_arm("eager"), an_arm("compiled")]
    return [arm.name for _, arm in islice(timing._interleaved(arms, random.Random(seed)), count)]


def test_every_two_pairs_have_one_of_each_order() -> None:
    names = interleaved(400)
    blocks = [tuple(names[start : start + 4]) for start in range(0, 400, 4)]
    assert set(blocks) == {
        ("eager", "compiled", "compiled", "eager"),
        ("compiled", "eager", "eager", "compiled"),
    }


def test_the_order_is_drawn_by_the_seed() -> None:
    assert interleaved(80, seed=1) == interleaved(80, seed=1) != interleaved(80, seed=2)


def test_sampling_stops_when_the_speedup_is_known_well_enough() -> None:
    taken, stop = timing.sample(
        a_stopwatch(),
        [an_arm("eager", 2), an_arm("compiled", 1)],
        budget_s=20,
        target_percent=15,
        seed=0,
    )
    assert stop.stopped_by == "target"
    assert stop.half_width_percent <= 15
    assert 1.5 < timing.speedup(taken["eager"], taken["compiled"]).value < 2.5


def test_sampling_stops_when_the_budget_is_spent() -> None:
    started = time.perf_counter()
    taken, stop = timing.sample(
        a_stopwatch(),
        [an_arm("eager"), an_arm("compiled")],
        budget_s=0.3,
        target_percent=1e-6,
        seed=0,
    )
    assert stop.stopped_by == "budget"
    assert time.perf_counter() - started < 2
    assert len(taken["eager"].ms) == len(taken["compiled"].ms) == stop.pairs


def test_an_arm_alone_is_sampled_until_its_median_is_known() -> None:
    taken, stop = timing.sample(
        a_stopwatch(), [an_arm("eager", 1)], budget_s=10, target_percent=20, seed=0
    )
    assert (list(taken), stop.stopped_by) == (["eager"], "target")
    assert stop.method.startswith("median of the samples")


def test_positions_tell_the_sequence_in_which_samples_were_taken() -> None:
    taken, _ = timing.sample(a_stopwatch(), [an_arm("eager"), an_arm("compiled")], 0.1, 50, seed=0)
    assert sorted(taken["eager"].order + taken["compiled"].order) == list(
        range(2 * len(taken["eager"].ms))
    )


def test_a_sample_is_long_against_the_timers_grain() -> None:
    inner = a_stopwatch().inner_steps(an_arm("eager", 0.1))
    assert 3 <= inner <= 10


def test_a_sample_of_the_slower_arm_has_fewer_steps() -> None:
    taken, _ = timing.sample(
        a_stopwatch(), [an_arm("eager", 1), an_arm("compiled", 0.05)], 0.1, 50, seed=0
    )
    assert taken["eager"].inner == 1 < taken["compiled"].inner


def test_a_sample_is_made_of_whole_passes_over_the_batches() -> None:
    batches: list[Inputs] = [{"x": index} for index in range(7)]
    assert a_stopwatch(batches).inner_steps(an_arm("eager", 0.3)) % 7 == 0


def test_batches_are_used_in_turn() -> None:
    seen: list[Any] = []
    arm = Arm(
        "eager", torch.nn.Identity(), lambda batch: seen.append(batch["x"]), None, lambda: None
    )
    a_stopwatch([{"x": 0}, {"x": 1}, {"x": 2}]).time(arm, 5, first=4)
    assert seen == [1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("single_steps", "step_ms", "pairs_s"),
    [(200, 5, 15), (200, 50, 20), (100, 5, 20), (0, 5, 20)],
)
def test_the_budget_goes_to_pairs_where_the_rest_would_not_do_for_a_percentile(
    single_steps: int, step_ms: float, pairs_s: float
) -> None:
    assert timing.pairs_budget_s(20, single_steps, step_ms) == pairs_s


def test_single_steps_end_with_their_budget() -> None:
    samples = timing.single_steps(a_stopwatch(), an_arm("compiled", 5), count=1000, budget_s=0.1)
    assert 5 < len(samples.ms) < 40


def test_cpu_time_is_not_wall_time() -> None:
    wall_ms, cpu_ms = a_stopwatch().time(an_arm("eager", 5), 4)
    assert wall_ms > 5 > cpu_ms


@pytest.mark.parametrize(
    ("steps_ms", "steady"),
    [([900.0, 1, 1, 1], 0.9), ([900.0, 1, 50, 1, 1, 1, 1, 1], 0.951), ([1.0, 1, 1, 1], 0)],
)
def test_steady_is_after_the_last_slow_step(steps_ms: list[float], steady: float) -> None:
    from benchmarks_suite.harness.start import steady_after_s

    assert steady_after_s(steps_ms) == pytest.approx(steady)
