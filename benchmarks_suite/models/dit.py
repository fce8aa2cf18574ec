"""DiT-XL/2 for 256 x 256 images: a transformer that denoises, 750 million parameters (diffusers).

The paper counts 675 million: diffusers gives every block its own embedding of label and time.
"""

from typing import Any

import torch
from diffusers import DiTTransformer2DModel
from diffusers.models.attention import BasicTransformerBlock
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload

CLASSES = 1000
CONFIGS: dict[str, dict[str, Any]] = {
    "smoke": {
        "num_attention_heads": 4,
        "attention_head_dim": 32,
        "num_layers": 3,
        "sample_size": 16,
    },
    "standard": {
        "num_attention_heads": 16,
        "attention_head_dim": 72,
        "num_layers": 28,
        "sample_size": 32,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = CONFIGS[size]
    side = config["sample_size"]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "sample": torch.randn(batch_size, 4, side, side, generator=generator),
            "timestep": torch.randint(1000, (batch_size,), generator=generator),  # (batch,)
            "labels": torch.randint(CLASSES, (batch_size,), generator=generator),  # (batch,)
            "noise": torch.randn(batch_size, 4, side, side, generator=generator),
        }

    return Workload(
        module=DiTTransformer2DModel(**config, out_channels=8),
        inputs=inputs,
        items=lambda batch: len(batch["sample"]),
        item="images",
        call=lambda module, batch: module(batch["sample"], batch["timestep"], batch["labels"]),
        output=lambda result: result.sample,  # (batch, 8, side, side): noise, and its variance
        loss=_noise_loss,
        blocks=(BasicTransformerBlock,),
    )


def _noise_loss(result: Any, batch: Inputs) -> Tensor:
    return nn.functional.mse_loss(result.sample[:, :4].float(), batch["noise"].float())
