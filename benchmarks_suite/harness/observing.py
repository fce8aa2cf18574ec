"""Observation of an arm from a fixed state: output, gradients, the optimizer's step, loss."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from benchmarks_suite.harness.arms import Arm, eager_arm, restored_state
from benchmarks_suite.harness.distances import as_reals
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs, tensors_of


@dataclass(frozen=True)
class Observed:
    """Values that one arm computed from the restored state.

    output: of one forward pass, as the workload picks it; None where it cannot be had apart from
        the step.
    gradients: of the first step, by parameter; empty for inference.
    losses: of each of k training steps; empty for inference.
    moves: how far the first step moved each parameter. In float32, on the CPU; of a reference
        rounded to the dtype that the arms keep their parameters in.
    buffers: those that the first step changed, as they are after it. On the CPU.
    others: what else that forward pass returned, by its path.
    """

    output: Tensor | None
    gradients: Mapping[str, Tensor] = field(default_factory=dict)
    losses: Sequence[float] = ()
    moves: Mapping[str, Tensor] = field(default_factory=dict)
    buffers: Mapping[str, Tensor] = field(default_factory=dict)
    others: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def outputs(self) -> dict[str, Tensor]:
        """All outputs by name; the one that the workload picks is "outputs"."""
        picked = {} if self.output is None else {"outputs": self.output}
        return picked | {f"outputs{path}": tensor for path, tensor in self.others.items()}


def observe(
    working_copy: WorkingCopy,
    arm: Arm,
    batches: Sequence[Inputs],
    steps: int,
    kept_in: torch.dtype | None = None,
) -> Observed:
    """Runs ``arm`` from the restored state, and leaves it restored.

    steps: k, the training steps after which losses are compared.
    kept_in: the dtype to which moved parameters are rounded; None: their own.
    """
    output, others = None, dict[str, Tensor]()
    with restored_state(arm):
        if arm.forward is not None:
            result = arm.forward(batches[0])
            picked = working_copy.workload.output(result)
            output = _whole(picked.detach()).clone()
            for path, tensor in tensors_of(result):
                if tensor is not picked:
                    others[path] = _whole(tensor.detach()).clone()
    if not working_copy.training:
        return Observed(output, others=others)
    with restored_state(arm):
        parameters, buffers = _parameters(arm.module, None), _buffers(arm.module)
        losses = [float(arm.step(batches[0]))]
        gradients = _gradients(arm.module)
        moves: dict[str, Tensor] = {}
        for name, moved in _parameters(arm.module, kept_in).items():
            moves[name] = moved - parameters[name]
        changed: dict[str, Tensor] = {}
        for name, buffer in _buffers(arm.module).items():
            if not torch.equal(buffer, buffers[name]):
                changed[name] = buffer
        for index in range(1, steps):
            losses.append(float(arm.step(batches[index % len(batches)])))
    return Observed(output, gradients, losses, moves, changed, others)


def _gradients(module: nn.Module) -> dict[str, Tensor]:
    """A copy of each parameter's gradient, by the name that the parameter has unwrapped."""
    gradients: dict[str, Tensor] = {}
    for name, parameter in _named(module.named_parameters()):
        if parameter.grad is not None:
            gradients[name] = as_reals(_whole(parameter.grad.detach())).clone()
    return gradients


def _parameters(module: nn.Module, kept_in: torch.dtype | None) -> dict[str, Tensor]:
    """A copy of each parameter in float32, which holds every number of a narrower dtype.

    kept_in: they are rounded to it first.
    """
    parameters: dict[str, Tensor] = {}
    for name, parameter in _named(module.named_parameters()):
        value = as_reals(_whole(parameter.detach()))
        if hasattr(value, "__tensor_flatten__"):
            continue  # quantized: its numbers are not its own
        if kept_in is not None:
            value = value.to(kept_in)
        parameters[name] = value.to("cpu", torch.float32, copy=True)
    return parameters


def _buffers(module: nn.Module) -> dict[str, Tensor]:
    """A copy of each buffer."""
    buffers: dict[str, Tensor] = {}
    for name, buffer in _named(module.named_buffers()):
        value = as_reals(_whole(buffer.detach()))
        if not hasattr(value, "__tensor_flatten__"):
            buffers[name] = value.to("cpu", copy=True)
    return buffers


def _named(tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """With the names that they have unwrapped.

    DistributedDataParallel and parametrizations add to the name.
    """
    for name, tensor in tensors:
        unwrapped = name.removeprefix("module.").replace("parametrizations.", "")
        yield unwrapped.removesuffix(".original"), tensor


def _whole(tensor: Tensor) -> Tensor:
    """With all its numbers: ranks may hold parts of it, and a sparse one leaves out zeros."""
    whole = tensor
    if hasattr(tensor, "full_tensor"):
        whole = tensor.full_tensor()
    elif tensor.is_nested:
        whole = tensor.to_padded_tensor(0.0)
    elif tensor.is_quantized:
        whole = tensor.dequantize()
    elif tensor.layout != torch.strided:
        whole = tensor.to_dense()
    return whole


def observe_reference(
    working_copy: WorkingCopy, dtype: torch.dtype, steps: int, rounding: float = 0.0, seed: int = 0
) -> Observed:
    """The same in a wider ``dtype`` and eager.

    Raises what torch raises where that has no room or no operator.
    rounding: weights and inputs are moved by this share of themselves, at random by ``seed``, and
        only the forward pass is observed.
    """

    def widely(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def called(value: Any) -> Any:
            with WideEverywhere(dtype):
                return call(value)

        return called

    wide = working_copy.widened(dtype)
    if rounding:
        wide.move(rounding, seed)
    wide.workload = replace(wide.workload, output=widely(wide.workload.output))
    arm = eager_arm(wide, dropout=False)
    assert arm.forward is not None  # eager has one
    arm = replace(arm, forward=widely(arm.forward), step=widely(arm.step))
    return observe(wide, arm, wide.batches, steps, kept_in=working_copy.dtype)


class WideEverywhere(TorchFunctionMode):
    """Keeps a reference run wide where the model asks for a narrower type by hand.

    Models do so in norms, softmax and rotary embeddings.
    """

    _NARROW = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.complex64})
    _CASTS = frozenset({torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16})

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self._dtype = dtype

    def __torch_function__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in self._CASTS:
            return args[0].to(self._dtype)
        wide_kwargs = {name: self._wide(value) for name, value in (kwargs or {}).items()}
        return func(*map(self._wide, args), **wide_kwargs)

    def _wide(self, value: Any) -> Any:
        if isinstance(value, torch.dtype) and value in self._NARROW:
            return self._dtype.to_complex() if value.is_complex else self._dtype
        return value
