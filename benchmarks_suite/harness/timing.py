"""Samples: wall-clock and CPU time per step between two device synchronizations.

The arms are interleaved at random.
"""

import gc
import itertools
import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import torch

from benchmarks_suite.harness import ranks, statistics
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.workload import Inputs

SAMPLE_S = {
    # The timer's grain is 50 ns; shorter than the scheduler's turns of some 3 ms, so that next to
    # other load most samples are undisturbed
    "cpu": 0.0005,
    # Until the first kernels run the GPU idles: 0.1 ms a sample, in some 0.7
    "cuda": 0.100,
}
MIN_PAIRS = 20
PAIRS_SHARE = 0.75  # of the budget; the rest is for single steps
MIN_P90, MIN_P99 = 200, 1000
_INTERVAL = "beta-binomial confidence sequence, 95%"
METHODS = {  # by the number of arms
    1: f"median of the samples; {_INTERVAL}",
    2: f"median of log(eager / compiled) over randomly ordered pairs; {_INTERVAL}",
}


@dataclass
class Samples:
    """The samples of one arm.

    inner: steps in one sample.
    ms, cpu_ms: wall-clock and CPU milliseconds per step, one value per sample.
    order: each sample's place in the interleaved sequence.
    """

    inner: int
    ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    order: list[int] = field(default_factory=list)

    def add(self, wall_ms: float, cpu_ms: float, position: int) -> None:
        self.ms.append(wall_ms)
        self.cpu_ms.append(cpu_ms)
        self.order.append(position)

    def document(self) -> Document:
        return {
            "unit": "ms",
            "inner": self.inner,
            "values": _rounded(self.ms),
            "cpu_ms": _rounded(self.cpu_ms),
            "order": self.order,
        }


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


@dataclass(frozen=True)
class Stop:
    """End of the sampling.

    stopped_by: ``target``, ``budget`` or ``count``.
    half_width_percent: of the interval that it looked at.
    method: how that interval was made.
    """

    stopped_by: str
    half_width_percent: float
    pairs: int
    target_percent: float
    method: str

    def document(self) -> Document:
        document = asdict(self)
        if not math.isfinite(self.half_width_percent):
            document["half_width_percent"] = None
        return document


class Stopwatch:
    """Times steps of arms on one device, over the batches in turn."""

    def __init__(self, device: torch.device, batches: Sequence[Inputs]) -> None:
        self._device, self._batches = device, batches

    def synchronize(self) -> None:
        """Waits until the device is idle; a CPU always is, between two calls."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def time(self, arm: Arm, steps: int, first: int = 0) -> tuple[float, float]:
        """(wall, CPU) milliseconds per step over ``steps`` steps, from batch ``first`` on."""
        begin = first % len(self._batches)
        batches = list(itertools.islice(itertools.cycle(self._batches), begin, begin + steps))
        step = arm.step
        self.synchronize()
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        for batch in batches:
            step(batch)
        self.synchronize()
        wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        return wall / steps / 1e6, cpu / steps / 1e6

    def launch_ms(self, arm: Arm, first: int = 0) -> float:
        """Milliseconds until one step's call returns; the device, idle before, may still work."""
        batch = self._batches[first % len(self._batches)]
        self.synchronize()
        start = time.perf_counter_ns()
        arm.step(batch)
        launched = time.perf_counter_ns()
        self.synchronize()
        return (launched - start) / 1e6

    def warm_up(self, arm: Arm) -> None:
        """Two passes over the batches and at least five steps.

        Autotuning, CUDA graph recording and allocators settle.
        """
        self.time(arm, max(5, 2 * len(self._batches)))

    def inner_steps(self, arm: Arm) -> int:
        """Steps that a sample of this arm needs to last SAMPLE_S: whole passes over the batches."""
        one_pass = len(self._batches)
        fastest_ms = min(self.time(arm, one_pass)[0] for _ in range(3))
        steps = SAMPLE_S[self._device.type] * 1000 / fastest_ms
        passes = max(1, math.ceil(steps / one_pass))
        return one_pass * int(ranks.agreed(passes))


def sample(
    stopwatch: Stopwatch, arms: Sequence[Arm], budget_s: float, target_percent: float, seed: int
) -> tuple[dict[str, Samples], Stop]:
    """Samples one arm, or two interleaved, until the interval is narrow or the budget is spent.

    Two arms: pairs in blocks of two, one in each order, the blocks' order drawn. Slow drifts
    cancel, and neither arm always follows the other. It looks at the interval of the paired
    speedup, with one arm at that of the median; that interval is valid under this stopping
    (statistics.median_interval).
    """
    samples = {arm.name: Samples(stopwatch.inner_steps(arm)) for arm in arms}

    def stop(reason: str, half_width: float, pairs: int) -> Stop:
        return Stop(reason, half_width, pairs, target_percent, METHODS[len(arms)])

    look_at = MIN_PAIRS
    with _quiet():
        deadline = time.perf_counter() + budget_s
        for position, arm in _interleaved(arms, random.Random(seed)):  # noqa: S311 - no secret
            wall_ms, cpu_ms = stopwatch.time(arm, samples[arm.name].inner)
            samples[arm.name].add(wall_ms, cpu_ms, position)

            pairs = min(len(of_arm.ms) for of_arm in samples.values())
            unpaired = any(len(of_arm.ms) != pairs for of_arm in samples.values())
            if pairs % 2 or unpaired:
                continue  # in the middle of a block
            half_width = math.inf
            if pairs >= look_at:
                half_width = watched(samples).half_width_percent
                look_at = pairs + max(2, pairs // 20)
            if ranks.agreed(half_width <= target_percent):
                return samples, stop("target", half_width, pairs)
            if ranks.agreed(time.perf_counter() >= deadline):
                return samples, stop("budget", watched(samples).half_width_percent, pairs)
    raise AssertionError("the interleaved sequence has no end")


def pairs_budget_s(budget_s: float, single_steps: int, step_ms: float) -> float:
    """Seconds of the budget that are for pairs.

    PAIRS_SHARE of it, or all of it where the rest would not do for p90.
    """
    rest_s = (1 - PAIRS_SHARE) * budget_s
    room_for_p90 = single_steps >= MIN_P90 and MIN_P90 * step_ms / 1000 <= rest_s
    return budget_s - rest_s if room_for_p90 else budget_s


def watched(samples: dict[str, Samples]) -> statistics.Interval:
    """The interval that sampling looks at: the speedup's with two arms, the latency's with one."""
    if len(samples) == 2:
        return speedup(samples["eager"], samples["compiled"])
    (of_the_arm,) = samples.values()
    return statistics.median_interval(of_the_arm.ms)


def speedup(eager: Samples, compiled: Samples) -> statistics.Interval:
    """eager / compiled: the median over the pairs, with its interval."""
    logs = [math.log(e / c) for e, c in zip(eager.ms, compiled.ms, strict=True)]
    return statistics.mapped(statistics.median_interval(logs), math.exp)


def saved_ms(eager: Samples, compiled: Samples) -> statistics.Interval:
    """eager - compiled, milliseconds per step: the median over the pairs, with its interval."""
    return statistics.median_interval([e - c for e, c in zip(eager.ms, compiled.ms, strict=True)])


def single_steps(stopwatch: Stopwatch, arm: Arm, count: int, budget_s: float) -> Samples:
    """Up to ``count`` steps timed one by one, as many as the budget has room for.

    Percentiles are made from these.
    """
    samples = Samples(1)
    with _quiet():
        deadline = time.perf_counter() + budget_s
        while len(samples.ms) < count and ranks.agreed(time.perf_counter() < deadline):
            wall_ms, cpu_ms = stopwatch.time(arm, 1, first=len(samples.ms))
            samples.add(wall_ms, cpu_ms, position=len(samples.order))
    return samples


def launches(stopwatch: Stopwatch, arm: Arm, count: int, budget_s: float) -> list[float]:
    """Up to ``count`` launching times, in milliseconds; at least one for each rank to agree on."""
    times_ms: list[float] = []
    with _quiet():
        deadline = time.perf_counter() + budget_s
        while len(times_ms) < count:
            times_ms.append(stopwatch.launch_ms(arm, first=len(times_ms)))
            if not ranks.agreed(time.perf_counter() < deadline):
                break
    return times_ms


def _interleaved(arms: Sequence[Arm], shuffle: random.Random) -> Iterator[tuple[int, Arm]]:
    """The endless sequence of (position, arm).

    It is made of blocks that hold both orders of the arms, the two orders shuffled.
    """
    position = 0
    while True:
        orders = [list(arms), list(reversed(arms))]
        shuffle.shuffle(orders)
        for arm in itertools.chain(*orders):
            yield position, arm
            position += 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Python's cyclic garbage collector out of the samples."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
