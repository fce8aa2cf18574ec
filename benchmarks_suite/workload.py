"""What a model file hands to the harness: the whole interface between models/*.py and harness/.

A model file has one function, ``build(size, mode, shapes, batch_size) -> Workload``. It makes the module on the CPU in
float32 with whatever weights the library gives; the harness refills the weights with its own generator (the same
seed gives other weights in other torch releases), casts, moves and copies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Workload:
    """One model, ready to be measured.

    module: on the CPU, float32, as published (dropout included; the harness sets it to 0 where it checks accuracy).
    inputs: ``inputs(index, generator)`` is the index-th batch on the CPU; floats in float32, ids in int64. With the
        static shape profile every index has the same shapes; with ``dynamic`` they vary; with ``bucketed`` they are
        padded to one of a few lengths. Floats are cast and all is moved by the harness.
    call: ``call(module, inputs)`` runs one forward pass. The harness compiles the module, never this function.
    output: picks the tensor to compare and to reduce from what ``call`` returned.
    loss: ``loss(output_of_call, inputs)``, a scalar; None where the model has no training mode.
    items: how many of ``item`` one batch holds (padding not counted).
    item: tokens, images or samples: the unit of throughput.
    blocks: the classes of the repeated blocks, for ``regional``.
    parts: name -> attribute path of the parts that ``modular`` compiles apart, e.g. {"encoder": "encoder"}.
    reset: called before each step where the module keeps state between calls (a KV cache); None where it keeps none.
    """

    module: nn.Module
    inputs: Callable[[int, torch.Generator], Inputs]
    items: Callable[[Inputs], int]
    item: str
    call: Callable[[nn.Module, Inputs], Any] = lambda module, inputs: module(**inputs)
    output: Callable[[Any], Tensor] = lambda result: result
    loss: Callable[[Any, Inputs], Tensor] | None = None
    blocks: tuple[type[nn.Module], ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    reset: Callable[[nn.Module], None] | None = None
