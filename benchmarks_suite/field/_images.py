"""Common parts of timm's and torchvision's adapters: a batch of images, the loss of all outputs."""

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload


def images(module: nn.Module, batch_size: int, side: int, scale: float = 1.0) -> Workload:
    """A model from images (batch, 3, side, side) to logits.

    scale: by which the loss is divided.
    """

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {"images": torch.randn(batch_size, 3, side, side, generator=generator)}

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: batch_size,
        item="images",
        call=lambda called, batch: called(batch["images"]),
        loss=lambda result, batch: mean_of_all(result) / scale,
        axes={"images": ("batch",)},
    )


def mean_of_all(result: Any) -> Tensor:
    """benchmarks/dynamo's loss without labels: the mean of each tensor's mean."""
    if isinstance(result, Tensor):
        return result.float().mean()
    parts = result.values() if isinstance(result, dict) else result
    return torch.stack([mean_of_all(part) for part in parts]).mean()
