"""DiT-XL/2 for 256 x 256 images: a transformer that denoises, 750 million parameters (diffusers).

The paper counts 675 million: diffusers gives every block its own embedding of label and time.
"""

from dataclasses import replace
from typing import Any

import torch
from diffusers import DiTTransformer2DModel
from diffusers.models.attention import BasicTransformerBlock
from torch import Tensor, nn

from benchmarks_suite.models._diffusion import denoiser
from benchmarks_suite.workload import Inputs, Sizes, Workload

CLASSES = 1000
CONFIGS: Sizes = {
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

    def conditions(generator: torch.Generator) -> Inputs:
        return {"labels": torch.randint(CLASSES, (batch_size,), generator=generator)}  # (batch,)

    def loss(result: Any, batch: Inputs) -> Tensor:
        # (batch, 8, side, side): noise, and its variance
        return nn.functional.mse_loss(result.sample[:, :4].float(), batch["noise"].float())

    workload = denoiser(
        DiTTransformer2DModel(**config, out_channels=8),
        (BasicTransformerBlock,),
        (batch_size, 4, config["sample_size"], config["sample_size"]),
        conditions,
        call=lambda module, batch: module(batch["sample"], batch["timestep"], batch["labels"]),
    )
    return replace(workload, loss=loss)
