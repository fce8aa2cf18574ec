"""Sampling: the arms in balanced random order, an end by target or budget, whole passes."""

import random
import time
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
import torch

from benchmarks_suite.harness import timing
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.start import steady_after_s
from benchmarks_suite.workload import Inputs

Sampled = tuple[dict[str, timing.Samples], timing.Stop]
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
    blocks = {" ".join(names[start : start + 4]) for start in range(0, 400, 4)}
    assert blocks == {"eager compiled compiled eager", "compiled eager eager compiled"}


def test_the_order_is_drawn_by_the_seed() -> None:
    assert interleaved(80, seed=1) == interleaved(80, seed=1)
    assert interleaved(80, seed=1) != interleaved(80, seed=2)


def sampled(*arms: Arm, budget_s: float, target_percent: float) -> Sampled:
    return timing.sample(a_stopwatch(), arms, budget_s, target_percent, seed=0)


def test_sampling_stops_when_the_speedup_is_known_well_enough() -> None:
    arms = an_arm("eager", 2), an_arm("compiled", 1)
    samples, stop = sampled(*arms, budget_s=20, target_percent=15)
    assert stop.stopped_by == "target"
    assert stop.half_width_percent <= 15
    assert 1.5 < timing.speedup(samples["eager"], samples["compiled"]).value < 2.5


def test_sampling_stops_when_the_budget_is_spent() -> None:
    started = time.perf_counter()
    arms = an_arm("eager"), an_arm("compiled")
    samples, stop = sampled(*arms, budget_s=0.3, target_percent=1e-6)
    assert stop.stopped_by == "budget"
    assert time.perf_counter() - started < 2
    assert len(samples["eager"].ms) == stop.pairs
    assert len(samples["compiled"].ms) == stop.pairs


def test_an_arm_alone_is_sampled_until_its_median_is_known() -> None:
    samples, stop = sampled(an_arm("eager", 1), budget_s=10, target_percent=20)
    assert list(samples) == ["eager"]
    assert stop.stopped_by == "target"
    assert stop.method.startswith("median of the samples")


def test_positions_give_the_sequence_in_which_samples_were_taken() -> None:
    samples, _ = sampled(an_arm("eager"), an_arm("compiled"), budget_s=0.1, target_percent=50)
    positions = sorted(samples["eager"].order + samples["compiled"].order)
    assert positions == list(range(len(positions)))
    assert len(positions) == 2 * len(samples["eager"].ms)


def test_a_sample_is_long_compared_with_the_timers_grain() -> None:
    inner = a_stopwatch().inner_steps(an_arm("eager", 0.1))
    assert 3 <= inner <= 10


def test_a_sample_of_the_slower_arm_has_fewer_steps() -> None:
    arms = an_arm("eager", 1), an_arm("compiled", 0.05)
    samples, _ = sampled(*arms, budget_s=0.1, target_percent=50)
    assert samples["eager"].inner == 1
    assert samples["compiled"].inner > 1


def test_a_sample_is_made_of_whole_passes_over_the_batches() -> None:
    batches: list[Inputs] = [{"x": index} for index in range(7)]
    assert a_stopwatch(batches).inner_steps(an_arm("eager", 0.3)) % 7 == 0


def test_batches_are_used_in_turn() -> None:
    seen: list[Any] = []
    arm = replace(an_arm("eager"), step=lambda batch: seen.append(batch["x"]))
    a_stopwatch(
        [
            {"x": 0},
            {"x": 1},
            {"x": 2},
        ]
    ).time(arm, 5, first=4)
    assert seen == [1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("single_steps", "step_ms", "pairs_s"),
    [
        (200, 5, 15),
        (200, 50, 20),
        (100, 5, 20),
        (0, 5, 20),
    ],
)
def test_the_whole_budget_goes_to_pairs_where_the_rest_would_not_do_for_a_percentile(
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
    [
        ([900.0, 1, 1, 1], 0.9),
        ([900.0, 1, 50, 1, 1, 1, 1, 1], 0.951),
        ([1.0, 1, 1, 1], 0),
    ],
)
def test_steady_is_after_the_last_slow_step(steps_ms: list[float], steady: float) -> None:
    assert steady_after_s(steps_ms) == pytest.approx(steady)
