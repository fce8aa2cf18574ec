"""One denoising step of Stable Diffusion XL: its UNet, 2.57 billion parameters (diffusers)."""

from typing import Any

import torch
from diffusers import UNet2DConditionModel
from diffusers.models.attention import BasicTransformerBlock
from diffusers.models.resnet import ResnetBlock2D
from torch import nn

from benchmarks_suite.models._diffusion import denoiser
from benchmarks_suite.workload import Inputs, Sizes, Workload

TEXT_LENGTH = 77
POOLED_WIDTH = {"smoke": 32, "standard": 1280}  # of the whole prompt's embedding
CONFIGS: Sizes = {
    "smoke": {
        "sample_size": 16,
        "block_out_channels": (32, 64),
        "layers_per_block": 1,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
        "transformer_layers_per_block": (1, 2),
        "attention_head_dim": (2, 4),
        "cross_attention_dim": 64,
        "addition_time_embed_dim": 8,
        "projection_class_embeddings_input_dim": 8 * 6 + 32,
        "norm_num_groups": 8,
    },
    "standard": {
        "sample_size": 128,  # latents of a 1024 x 1024 image
        "block_out_channels": (320, 640, 1280),
        "layers_per_block": 2,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        "transformer_layers_per_block": (1, 2, 10),
        "attention_head_dim": (5, 10, 20),
        "cross_attention_dim": 2048,
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 256 * 6 + 1280,
    },
}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    config = CONFIGS[size]
    side = config["sample_size"]
    text_width = config["cross_attention_dim"]
    pixels = 8.0 * side
    time_ids = (pixels, pixels, 0, 0, pixels, pixels)  # original size, corner of the crop, size

    def conditions(generator: torch.Generator) -> Inputs:
        return {
            "text": torch.randn(batch_size, TEXT_LENGTH, text_width, generator=generator),
            "text_embeds": torch.randn(batch_size, POOLED_WIDTH[size], generator=generator),
            "time_ids": torch.tensor([time_ids]).repeat(batch_size, 1),
        }

    def call(module: nn.Module, batch: Inputs) -> Any:
        added = {"text_embeds": batch["text_embeds"], "time_ids": batch["time_ids"]}
        return module(batch["sample"], batch["timestep"], batch["text"], added_cond_kwargs=added)

    return denoiser(
        UNet2DConditionModel(**config, use_linear_projection=True, addition_embed_type="text_time"),
        (BasicTransformerBlock, ResnetBlock2D),
        (batch_size, 4, side, side),
        conditions,
        call,
    )
