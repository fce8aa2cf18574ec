"""The whole interface between models/*.py and harness/: what a model file hands to the harness.

A model file has one function, ``build(size, mode, shapes, batch_size) -> Workload``. It makes the
module on the CPU in float32. Weights that the library would draw at random are empty memory after
``loading.load`` (drawing billions of them takes minutes); the harness fills every parameter with
its own generator, because the same seed gives other weights in other torch releases. Buffers
(rotary tables, position ids, caches) hold their right values.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Inputs = Mapping[str, Any]
Sizes = Mapping[str, Mapping[str, Any]]  # size -> the arguments of a library's config


def tensors_of(result: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """All tensors of a nested output by their paths, such as "['scores']" and "[0].logits"."""
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(result, Tensor):
        yield path, result
    elif isinstance(result, Mapping):
        items = ((f"[{key!r}]", value) for key, value in result.items())
    elif isinstance(result, list | tuple):
        items = ((f"[{index}]", value) for index, value in enumerate(result))
    elif is_dataclass(result):
        items = ((f".{each.name}", getattr(result, each.name)) for each in fields(result))
    for step, value in items:
        yield from tensors_of(value, path + step)


def first_tensor(result: Any) -> Tensor:
    """The first tensor of floats, else of complex numbers, else of anything; else an empty one."""
    tensors = [tensor for _, tensor in tensors_of(result)]
    floats = [tensor for tensor in tensors if tensor.is_floating_point()]
    complexes = [tensor for tensor in tensors if tensor.is_complex()]
    return next(iter(floats + complexes + tensors), torch.empty(0))


class Unsupported(Exception):
    """This machine, torch version or set of libraries cannot run it; the text says why."""


@dataclass(frozen=True)
class Workload:
    """One model, ready to be measured.

    module: on the CPU, float32, as published (dropout included; the harness sets it to 0 where it
        checks accuracy).
    inputs: ``inputs(index, generator)`` is the index-th batch on the CPU; floats in float32, ids in
        int64. With the static shape profile every index has the same shapes; with ``dynamic`` they
        vary; with ``bucketed`` they are padded to one of a few lengths. The harness casts floats
        and moves everything to the device.
    call: ``call(module, inputs)`` runs one forward pass. The harness compiles the module, not this.
    output: picks the tensor whose distance is the drift from what ``call`` returned. The others are
        compared, too.
    loss: ``loss(output_of_call, inputs)``, a scalar; None where the model has no training mode.
    items: how many of ``item`` one batch holds (padding not counted). Distributed: of this rank's
        batch; every rank has its own.
    item: tokens, images or samples: the unit of throughput.
    blocks: the classes of the repeated blocks, for ``regional``.
    parts: name -> attribute path of the parts that ``modular`` compiles apart, such as
        {"encoder": "encoder"}.
    axes: input name -> what its leading axes are, such as {"input_ids": ("batch", "length")}. For
        configs that walk through other shapes: they cut these axes. An input without a name here
        has the same shape with every batch and length.
    reset: called before each step where the module keeps state between calls; None where a step
        needs none. A decode step needs none: its input holds the position, so that the same input
        always gives the same output.
    library: ``library()`` builds the module that computes the same by a library's own call, with
        weights of the same names; None where ``module`` is what a user would write.
    wrap: ``wrap(module)`` returns the module that is really measured: quantized, DDP, FSDP2. Called
        once per arm, on the device, after the weights were filled, cast and moved and, for the
        family ``distributed``, after torchrun's process group is up; before torch.compile. None
        where the module is measured as it is.
    """

    module: nn.Module
    inputs: Callable[[int, torch.Generator], Inputs]
    items: Callable[[Inputs], int]
    item: str
    call: Callable[[nn.Module, Inputs], Any] = lambda module, inputs: module(**inputs)
    output: Callable[[Any], Tensor] = first_tensor
    loss: Callable[[Any, Inputs], Tensor] | None = None
    blocks: tuple[type[nn.Module], ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reset: Callable[[nn.Module], None] | None = None
    library: Callable[[], nn.Module] | None = None
    wrap: Callable[[nn.Module], nn.Module] | None = None


@contextmanager
def weights_not_drawn() -> Iterator[None]:
    """Inside it nothing is drawn in place: a billion weights are allocated and never touched.

    Constants (norms of one) and computed buffers are written as usual.
    """
    init: Any = torch.nn.init
    # It draws again until all values lie within its bounds: on empty memory, for ever
    truncated = init._no_grad_trunc_normal_
    init._no_grad_trunc_normal_ = lambda tensor, *bounds, **options: tensor
    try:
        with _NothingDrawn():
            yield
    finally:
        init._no_grad_trunc_normal_ = truncated


# By name: libraries put functions of their own in the place of torch.nn.init's while they build
_DRAWS = frozenset(
    {
        "normal_",
        "uniform_",
        "kaiming_normal_",
        "kaiming_uniform_",
        "xavier_normal_",
        "xavier_uniform_",
    }
)


class _NothingDrawn(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") not in _DRAWS:
            return func(*args, **kwargs)
        tensor: Tensor = args[0] if args else kwargs["tensor"]
        if tensor.dim() > 1:
            return tensor
        return tensor.detach().zero_()  # old memory could look like a norm's gain
