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
    return classifier(*WIDTH_AND_DEPTH[size], batch_size)


def classifier(width: int, depth: int, batch_size: int) -> Workload:
    hidden = [Layer(nn.Linear(width, width), nn.GELU()) for _ in range(depth)]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "x": torch.randn(batch_size, width, generator=generator),  # (batch, width)
            "labels": torch.randint(CLASSES, (batch_size,), generator=generator),  # (batch,)
        }

    return Workload(
        module=Mlp(*hidden, nn.Linear(width, CLASSES)),
        inputs=inputs,
        items=lambda batch: len(batch["x"]),
        item="samples",
        call=lambda module, batch: module(batch["x"]),
        loss=_loss,
        blocks=(Layer,),
    )


def _loss(logits: Tensor, batch: Inputs) -> Tensor:
    return nn.functional.cross_entropy(logits.float(), batch["labels"])
