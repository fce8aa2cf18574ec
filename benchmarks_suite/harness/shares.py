"""Which share of the machine's ceilings a step achieves."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks_suite.harness.arms import Arm, restored_state
from benchmarks_suite.harness.working_copies import WorkingCopy


def flops_of(working_copy: WorkingCopy, arm: Arm) -> float:
    """Floating-point operations of one step's matmuls, convolutions and attention: mean over the
    batches.

    Counted by torch.utils.flop_counter on the eager arm: what the model asks for, whatever a
    compiler makes of it.
    """
    with (
        restored_state(arm),
        FlopCounterMode(display=False, custom_mapping=attention_formulas()) as counter,
    ):
        for batch in working_copy.batches:
            arm.step(batch)
    return float(counter.get_total_flops()) / len(working_copy.batches)


def attention_flops(query: Sequence[int], key: Sequence[int], value: Sequence[int]) -> int:
    """Of one attention; shapes (batch, heads, length, width). Keys and values may have fewer heads,
    each for a group of the query's: torch's own formula (seen in 2.11) refuses those, and has none
    for a CPU's operator.
    """
    return _per_width(query, key) * (query[-1] + value[-1])


def attention_backward_flops(
    _: Sequence[int], query: Sequence[int], key: Sequence[int], value: Sequence[int]
) -> int:
    """Of its backward: the scores again, then the gradients of value, scores, query and key."""
    return _per_width(query, key) * (3 * query[-1] + 2 * value[-1])


def _per_width(query: Sequence[int], key: Sequence[int]) -> int:
    batch, heads, length, _ = query
    return 2 * batch * heads * length * key[-2]


def attention_formulas() -> dict[Any, Callable[..., int]]:
    """For each operator that this torch may run attention with."""
    found: dict[Any, Callable[..., int]] = {}
    for kind in (
        "flash_attention",
        "efficient_attention",
        "cudnn_attention",
        "flash_attention_for_cpu",
    ):
        name = f"_scaled_dot_product_{kind}"
        for operator, formula in (
            (name, attention_flops),
            (f"{name}_backward", attention_backward_flops),
        ):
            if hasattr(torch.ops.aten, operator):
                found[getattr(torch.ops.aten, operator)] = _of_shapes(formula)
    return found


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    """The formula as the counter calls it: with the shapes of every argument of the operator."""
    count = len(inspect.signature(formula).parameters)
    return lambda *shapes, **_: formula(*shapes[:count])


def least_bytes(working_copy: WorkingCopy) -> float:
    """Bytes that one inference step must move at least: each weight and each input read once."""
    weights = sum(tensor.nbytes for tensor in working_copy.module.parameters())
    tensors = [
        value
        for batch in working_copy.batches
        for value in batch.values()
        if isinstance(value, torch.Tensor)
    ]
    return weights + sum(tensor.nbytes for tensor in tensors) / len(working_copy.batches)
