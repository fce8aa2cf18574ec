"""One denoising step of Stable Diffusion 1.5: its UNet, 860 million parameters (diffusers)."""

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention import BasicTransformerBlock
from diffusers.models.resnet import ResnetBlock2D

from benchmarks_suite.models._diffusion import denoiser
from benchmarks_suite.workload import Sizes, Workload

TEXT_LENGTH = 77
CONFIGS: Sizes = {
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
    text = (batch_size, TEXT_LENGTH, config["cross_attention_dim"])
    return denoiser(
        UNet2DConditionModel(**config),
        (BasicTransformerBlock, ResnetBlock2D),
        (batch_size, 4, config["sample_size"], config["sample_size"]),
        conditions=lambda generator: {"text": torch.randn(text, generator=generator)},
        call=lambda module, batch: module(batch["sample"], batch["timestep"], batch["text"]),
    )
