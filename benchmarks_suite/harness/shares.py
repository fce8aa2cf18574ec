"""Share of the machine's ceilings that a step achieves."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks_suite.harness.arms import Arm, restored_state
from benchmarks_suite.harness.working_copies import WorkingCopy

_ATTENTION_KINDS = (
    "flash_attention",
    "efficient_attention",
    "cudnn_attention",
    "flash_attention_for_cpu",
)


def flops_of(working_copy: WorkingCopy, arm: Arm) -> float:
    """Floating-point operations of a step's matmuls, convolutions and attention.

    The mean over the batches, counted by torch.utils.flop_counter on the eager arm: what the model
    requests, whatever a compiler makes of it.
    """
    counter = FlopCounterMode(display=False, custom_mapping=attention_formulas())
    with restored_state(arm), counter:
        for batch in working_copy.batches:
            arm.step(batch)
    return float(counter.get_total_flops()) / len(working_copy.batches)


def attention_flops(query: Sequence[int], key: Sequence[int], value: Sequence[int]) -> int:
    """Count the operations of one attention; shapes (batch, heads, length, width).

    Keys and values may have fewer heads, each for a group of the query's: torch's own formula (seen
    in 2.11) refuses those, and there is none for a CPU's operator.
    """
    return _per_width(query, key) * (query[-1] + value[-1])


def attention_backward_flops(
    _: Sequence[int], query: Sequence[int], key: Sequence[int], value: Sequence[int]
) -> int:
    """Count its backward: the scores again, then the gradients of value, scores, query and key."""
    return _per_width(query, key) * (3 * query[-1] + 2 * value[-1])


def _per_width(query: Sequence[int], key: Sequence[int]) -> int:
    batch, heads, length, _ = query
    return 2 * batch * heads * length * key[-2]


def attention_formulas() -> dict[Any, Callable[..., int]]:
    """For each operator that this torch may run attention with."""
    formulas: dict[Any, Callable[..., int]] = {}
    for kind in _ATTENTION_KINDS:
        forward = getattr(torch.ops.aten, f"_scaled_dot_product_{kind}", None)
        backward = getattr(torch.ops.aten, f"_scaled_dot_product_{kind}_backward", None)
        if forward is not None:
            formulas[forward] = _of_shapes(attention_flops)
        if backward is not None:
            formulas[backward] = _of_shapes(attention_backward_flops)
    return formulas


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    """The formula as the counter calls it: with the shapes of every argument of the operator."""
    count = len(inspect.signature(formula).parameters)
    return lambda *shapes, **_: formula(*shapes[:count])


def least_bytes(working_copy: WorkingCopy) -> float:
    """Bytes that one inference step must move at least: each weight and each input read once."""
    weights = sum(tensor.nbytes for tensor in working_copy.module.parameters())
    inputs = 0
    for batch in working_copy.batches:
        tensors = [value for value in batch.values() if isinstance(value, torch.Tensor)]
        inputs += sum(tensor.nbytes for tensor in tensors)
    return weights + inputs / len(working_copy.batches)
