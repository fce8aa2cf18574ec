"""Where a drift comes from: each repeated block compiled by itself, and what leaves it.

Blocks are those that ``regional`` compiles. In one step of eager, of the reference and of an arm
whose blocks are compiled one by one, hooks keep each block's output and, in training, the gradient
that comes back to it. Each is held to the rule of accuracy.py: 3 times eager's own distance at that
block. The first block is the one that leaves it: of outputs the first in the order of calls, of
gradients the last. Where none does, the drift comes from between the blocks, or from fusing across
them: compiled together they are other code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.configs import Config
from benchmarks_suite.harness import accuracy, compiling, torch_versions
from benchmarks_suite.harness.arms import (
    Arm,
    arm_around,
    eager_arm,
    new_optimizer,
    restored_state,
)
from benchmarks_suite.harness.distances import relative_l2
from benchmarks_suite.harness.observing import WideEverywhere
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Unsupported


@dataclass(frozen=True)
class BlockDrift:
    """How far one block is from the reference. what: output, or gradient."""

    name: str
    what: str
    drift: float
    eager_drift: float
    allowed: float

    @property
    def leaves_rule(self) -> bool:
        return not self.drift <= self.allowed


@dataclass(frozen=True)
class _Kept:
    """Block -> what left it in its first call, and the gradient that came back, in that order."""

    outputs: dict[str, Tensor] = field(default_factory=dict)
    gradients: dict[str, Tensor] = field(default_factory=dict)


def of_blocks(
    working_copy: WorkingCopy, config: Config, reference: torch.dtype
) -> list[BlockDrift]:
    """Each block: outputs in the order of calls, then gradients against it. Raises Unsupported.

    Raises what torch raises where an operator knows no ``reference``.
    """
    if not working_copy.workload.blocks:
        raise Unsupported(f"{working_copy.benchmark.module} names no repeated blocks")
    wide = working_copy.widened(reference)
    with WideEverywhere(reference):
        expected = _observe(wide, eager_arm(wide, dropout=False))
    eager = _observe(working_copy, eager_arm(working_copy, dropout=False))
    compiled = _observe(working_copy, _block_by_block(working_copy, config))

    rule = accuracy.tolerance(
        working_copy.autocast_dtype or working_copy.dtype, config.target == "float8"
    )

    def drift(what: str, name: str, kept: Callable[[_Kept], dict[str, Tensor]]) -> BlockDrift:
        right = kept(expected)[name]
        eager_drift = relative_l2(kept(eager)[name], right)
        own = relative_l2(kept(compiled)[name], right)
        return BlockDrift(name, what, own, eager_drift, rule.allows(eager_drift, rule.floor))

    outputs = [drift("output", name, lambda kept: kept.outputs) for name in expected.outputs]
    gradients = [
        drift("gradient", name, lambda kept: kept.gradients) for name in expected.gradients
    ]
    return outputs + gradients


def _block_by_block(working_copy: WorkingCopy, config: Config) -> Arm:
    for area in ("inductor", "dynamo", "functorch"):
        torch_versions.set_options(area, getattr(config, area))
    module = working_copy.twin(dropout=False)
    for block in compiling.blocks(working_copy, module):
        compiling.compile_forward(block, compiling.compile_arguments(config))
    optimizer = new_optimizer(working_copy, module)
    return arm_around("compiled", working_copy, module, module, optimizer)


def _observe(working_copy: WorkingCopy, arm: Arm) -> _Kept:
    kept = _Kept()
    with _hooks(working_copy, arm.module, kept), restored_state(arm):
        arm.step(working_copy.batches[0])
    return kept


@contextmanager
def _hooks(working_copy: WorkingCopy, module: nn.Module, kept: _Kept) -> Iterator[None]:
    names = {id(block): name for name, block in module.named_modules()}
    handles = []
    for block in compiling.blocks(working_copy, module):
        hook = _hook(names[id(block)], kept)
        handles.append(block.register_forward_hook(hook))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _hook(name: str, kept: _Kept) -> Callable[[nn.Module, Any, Any], None]:
    def keep(block: nn.Module, inputs: Any, output: Any) -> None:
        tensor = output[0] if isinstance(output, (tuple, list)) else output
        if name in kept.outputs or not isinstance(tensor, Tensor):
            return
        kept.outputs[name] = tensor.detach().clone()
        if tensor.requires_grad:
            tensor.register_hook(keep_gradient)

    def keep_gradient(gradient: Tensor) -> None:
        kept.gradients.setdefault(name, gradient.detach().clone())

    return keep
