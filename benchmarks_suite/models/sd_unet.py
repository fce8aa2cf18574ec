"""One denoising step of Stable Diffusion 1.5: its UNet, 860 million parameters (diffusers)."""

from typing import Any

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention import BasicTransformerBlock
from diffusers.models.resnet import ResnetBlock2D
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload

TEXT_LENGTH = 77
CONFIGS: dict[str, dict[str, Any]] = {
    "smoke": {
        "sample_size": 16,
        "block_out_channels": (32, 64),
        "layers_per_block": 1,
        "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D"),
        "cross_attention_dim": 64,
        "attention_head_dim": 4,
        "norm_num_groups": 8,
    },
    "standard": {
        "sample_size": 64,  # latents of a 512 x 512 image
        "block_out_channels": (320, 640, 1280, 1280),
        "layers_per_block": 2,
        "down_block_types": (*("CrossAttnDownBlock2D",) * 3, "DownBlock2D"),
        "up_block_types": ("UpBlock2D", *("CrossAttnUpBlock2D",) * 3),
        "cross_attention_dim": 768,
        "attention_head_dim": 8,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = CONFIGS[size]
    side = config["sample_size"]
    text_width = config["cross_attention_dim"]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "sample": torch.randn(batch_size, 4, side, side, generator=generator),
            "timestep": torch.randint(1000, (batch_size,), generator=generator),  # (batch,)
            "text": torch.randn(batch_size, TEXT_LENGTH, text_width, generator=generator),
            "noise": torch.randn(batch_size, 4, side, side, generator=generator),
        }

    return Workload(
        module=UNet2DConditionModel(**config),
        inputs=inputs,
        items=lambda batch: len(batch["sample"]),
        item="images",
        call=lambda module, batch: module(batch["sample"], batch["timestep"], batch["text"]),
        output=lambda result: result.sample,  # (batch, 4, side, side): the noise it sees
        loss=_noise_loss,
        blocks=(BasicTransformerBlock, ResnetBlock2D),
    )


def _noise_loss(result: Any, batch: Inputs) -> Tensor:
    return nn.functional.mse_loss(result.sample.float(), batch["noise"].float())
