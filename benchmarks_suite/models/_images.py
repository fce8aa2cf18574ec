"""What the image classifiers share: batches of images with labels, and the loss."""

from typing import Any

import torch
from torch import nn

from benchmarks_suite.workload import Inputs, Workload


def classifier(
    model: Any, block: type[nn.Module], mode: str, batch_size: int, image_size: int
) -> Workload:
    """An image classifier of transformers; ``model.config.num_labels`` classes."""

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        images = torch.randn(batch_size, 3, image_size, image_size, generator=generator)
        classes = model.config.num_labels
        labels = torch.randint(classes, (batch_size,), generator=generator)  # (batch,)
        if mode != "training":
            return {"pixel_values": images}
        return {"pixel_values": images, "labels": labels}

    return Workload(
        module=model,
        inputs=inputs,
        items=lambda batch: len(batch["pixel_values"]),
        item="images",
        call=lambda module, batch: module(batch["pixel_values"]),
        output=lambda result: result.logits,  # (batch, labels)
        loss=lambda result, batch: nn.functional.cross_entropy(
            result.logits.float(), batch["labels"]
        ),
        blocks=(block,),
        axes={"pixel_values": ("batch",), "labels": ("batch",)},
    )
