"""The arms of a comparison: what one step is, in eager and around whatever a config compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs

LEARNING_RATE = 1e-4
Step = Callable[[Inputs], Any]


@dataclass(frozen=True)
class Arm:
    """One side of a comparison.

    module: the module object whose weights a step uses; never the compiled wrapper around it.
    step: one step on a batch. In inference a forward pass without gradients; in training zeroed
        gradients, forward pass, loss, backward, optimizer; it returns the loss, and the gradients
        stay until the next step.
    forward: the forward pass as ``step`` runs it; None where it cannot be had apart from the step.
    forget: sets the optimizer's state to zero, in place.
    """

    name: str
    module: nn.Module
    step: Step
    forward: Step | None
    forget: Callable[[], None]


def eager_arm(working_copy: WorkingCopy, dropout: bool = True) -> Arm:
    """The control. dropout: False sets every dropout rate to 0."""
    module = working_copy.twin(dropout)
    optimizer = new_optimizer(working_copy, module)
    return arm_around("eager", working_copy, module, module, optimizer)


def new_optimizer(
    working_copy: WorkingCopy, module: nn.Module, fused: bool | None = None
) -> torch.optim.Optimizer | None:
    """Adam, for a training benchmark; None for inference.

    Each arm has its own: compiling its step changes its flags.
    fused: None is torch's default, a loop over lists of tensors (foreach) on a GPU.
    """
    if not working_copy.training:
        return None
    return torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, fused=fused)


def arm_around(
    name: str,
    working_copy: WorkingCopy,
    module: nn.Module,
    callee: Any,
    optimizer: torch.optim.Optimizer | None,
    optimizer_step: Callable[[], Any] | None = None,
    keeps_gradients: bool = False,
) -> Arm:
    """An arm whose forward pass calls ``callee``, made from ``module`` and using its weights.

    optimizer_step: what a training step ends with; ``optimizer.step`` if not given.
    keeps_gradients: they stay where they are in memory, and are zeroed there.
    """
    workload = working_copy.workload

    def forward(batch: Inputs) -> Any:
        if workload.reset is not None:
            workload.reset(callee)
        with torch.set_grad_enabled(working_copy.training), working_copy.autocast():
            return workload.call(callee, batch)

    step: Step = forward
    if optimizer is not None:
        last = optimizer_step or optimizer.step
        step = training_step(working_copy, module, forward, last, keeps_gradients)
    return Arm(name, module, step, forward, lambda: forget_state(optimizer))


def training_step(
    working_copy: WorkingCopy,
    module: nn.Module,
    forward: Step,
    optimizer_step: Callable[[], Any],
    keeps_gradients: bool = False,
) -> Step:
    """Zeroed gradients, forward pass, loss, backward, optimizer; returns the loss."""
    parameters = list(module.parameters())
    loss_of = working_copy.workload.loss
    assert loss_of is not None  # checked when the working copy was made

    def step(batch: Inputs) -> Tensor:
        for parameter in parameters:
            if keeps_gradients and parameter.grad is not None:
                parameter.grad.zero_()
            else:
                parameter.grad = None
        with working_copy.autocast():
            loss = loss_of(forward(batch), batch)
        loss.backward()
        optimizer_step()
        return loss.detach()

    return step


def forget_state(optimizer: torch.optim.Optimizer | None) -> None:
    """Zeroes the optimizer's state in place: a compiled step must not see its structure change."""
    if optimizer is None:
        return
    for state in optimizer.state.values():
        for value in state.values():
            if isinstance(value, Tensor):
                value.zero_()


@contextmanager
def restored_state(arm: Arm) -> Iterator[int]:
    """Put weights and buffers back when the block ends, bit for bit, and zero the optimizer.

    Yields the bytes of the copy that this needs meanwhile, on the arm's device: they are not memory
    of the arm's own.
    """
    kept = {name: tensor.detach().clone() for name, tensor in _state(arm.module).items()}
    try:
        yield sum(map(_bytes, kept.values()))
    finally:
        with torch.no_grad():
            for name, tensor in _state(arm.module).items():
                tensor.copy_(kept[name])
                tensor.grad = None
        arm.forget()


def _bytes(tensor: Tensor) -> int:
    """Count the bytes held here: a quantized tensor's parts, this rank's part of a spread one."""
    if not hasattr(tensor, "__tensor_flatten__"):
        return tensor.nbytes
    names, _ = tensor.__tensor_flatten__()
    parts = [getattr(tensor, name) for name in names]
    return sum(_bytes(part) for part in parts if isinstance(part, Tensor))  # not its device mesh


def _state(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters()) | dict(module.named_buffers())
