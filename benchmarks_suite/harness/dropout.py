"""Comparison of a compiled arm's dropout with eager's. The rule of accuracy.py sees dropout 0.

Both arms draw from torch's generator, but not the same numbers, so distributions are compared: of
PASSES forward passes of each arm in training mode, from fixed seeds, the distances between all
pairs of outputs (at most SAMPLED numbers of each). An arm fails where

- the spread among its passes is less or more than SPREAD_RATIO times eager's, or its passes lie
  further from eager's than either from their own by SHIFT of that (energy distance, Székely 2004);
- and of all ways to part the passes into two halves no other is as extreme, which is so in 1 of
  6,435 cases where both arms draw alike (a permutation test: no assumption about the model).

The first keeps rounding out, which the second alone would find; and nothing is judged where eager's
spread is less than CLEAR times the drift of the outputs. A forward pass that cannot be had apart
from the step shows nothing.
"""

from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from benchmarks_suite.harness.arms import Arm, restored_state
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs

PASSES = 8
SAMPLED = 65_536  # numbers of an output, evenly spread over it
SPREAD_RATIO = 1.25
SHIFT = 0.1
CLEAR = 10.0


def compare(
    working_copy: WorkingCopy, eager: Arm, compiled: Arm, batch: Inputs, drift: float
) -> tuple[dict[str, Any], str]:
    """The distances, and what is wrong with them; "" where nothing is.

    Both arms need a forward pass of their own.
    drift: the larger of the arms' relative L2 from the reference, without dropout.
    """
    outputs = torch.cat(
        [_outputs(working_copy, arm, batch, seed=1000) for arm in (eager, compiled)]
    )
    return judge(outputs, drift)


def _outputs(working_copy: WorkingCopy, arm: Arm, batch: Inputs, seed: int) -> Tensor:
    """(PASSES, numbers)"""
    assert arm.forward is not None
    devices = [working_copy.device] if working_copy.device.type == "cuda" else []
    rows = []
    with torch.random.fork_rng(devices=devices), restored_state(arm):
        for index in range(PASSES):
            torch.manual_seed(seed + index)
            output = working_copy.workload.output(arm.forward(batch)).detach().flatten()
            sampled = output[:: max(1, len(output) // SAMPLED)]
            rows.append(sampled.to("cpu", torch.float64, copy=True))
    return torch.stack(rows).nan_to_num(posinf=0.0, neginf=0.0)


def judge(outputs: Tensor, drift: float) -> tuple[dict[str, Any], str]:
    """outputs: (2 PASSES, numbers), eager's first."""
    apart = torch.cdist(outputs, outputs, compute_mode="donot_use_mm_for_euclid_dist")
    each = PASSES * (PASSES - 1)
    of_eager = float(apart[:PASSES, :PASSES].sum()) / each
    own = float(apart[PASSES:, PASSES:].sum()) / each
    between = float(apart[:PASSES, PASSES:].mean())
    details: dict[str, Any] = {"spread": own, "eager_spread": of_eager, "between": between}
    if not of_eager > CLEAR * drift * float(outputs[:PASSES].norm(dim=1).mean()):
        return details | {"judged": False}, ""
    spread_ratio = max(own, of_eager) / max(min(own, of_eager), 1e-300)
    shift = 2 * between / (own + of_eager) - 1
    halves = _halves()  # (ways, 2 PASSES), the real one first
    spreads = (halves @ apart.sum(dim=1)).abs()
    energies = -((halves @ apart) * halves).sum(dim=1)
    if spread_ratio > SPREAD_RATIO and _is_most_extreme(spreads):
        times = own / of_eager
        return details, f"dropout: passes are {times:.2g} times as far apart as eager's"
    if shift > SHIFT and _is_most_extreme(energies):
        return details, f"dropout: passes are {shift:.0%} further from eager's than from their own"
    return details, ""


def _is_most_extreme(values: Tensor) -> bool:
    return float(values[0]) > float(values[1:].max())


def _halves() -> Tensor:
    """Each way to part 2 PASSES passes into two halves, as signs; the first pass is always 1."""
    ways = []
    for others in combinations(range(1, 2 * PASSES), PASSES - 1):
        chosen = {0, *others}
        ways.append([1.0 if index in chosen else -1.0 for index in range(2 * PASSES)])
    return torch.tensor(ways, dtype=torch.float64)
