"""A plain MLP, deep and narrow: the smallest thing that fuses, and the first result of a run."""

import torch
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload

CLASSES = 10
WIDTH_AND_DEPTH = {"smoke": (256, 4), "standard": (1024, 16)}


class Layer(nn.Sequential):
    """One repeated block: linear, then GELU."""


class Mlp(nn.Sequential):
    """It has its own forward: under DDP dynamo starts here, and it skips frames of torch.nn."""

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, width) -> (batch, CLASSES)."""
        for layer in self:
            x = layer(x)
        return x


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return mlp(*WIDTH_AND_DEPTH[size], batch_size)


def mlp(width: int, depth: int, batch_size: int) -> Workload:
    hidden = [Layer(nn.Linear(width, width), nn.GELU()) for _ in range(depth)]
    module = Mlp(*hidden, nn.Linear(width, CLASSES))
    return classifier(module, Layer, "samples", batch_size, width)


def classifier(module: nn.Module, block: type[nn.Module], item: str, *shape: int) -> Workload:
    """A module from a batch of this shape, (batch, ...), to logits of CLASSES."""

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "x": torch.randn(shape, generator=generator),
            "labels": torch.randint(CLASSES, shape[:1], generator=generator),  # (batch,)
        }

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: len(batch["x"]),
        item=item,
        call=lambda module, batch: module(batch["x"]),
        loss=lambda logits, batch: nn.functional.cross_entropy(logits.float(), batch["labels"]),
        blocks=(block,),
        axes={"x": ("batch",), "labels": ("batch",)},
    )
