"""Image captioning: ViT-B/16 and GPT-2 with cross attention, 201 million parameters (transformers).

The captions' tokenizer has 1,024 words. In version 1 the decoder had GPT-2's 50,257.

Captions are 256 tokens long in the static profile. In the dynamic one a batch of captions of one
length is padded to a multiple of 8; nearly all are short: 90% below 32, 9% below 64, 1% below
256. In the bucketed one they are padded to one of eight lengths, so that eight compiled graphs
serve them all.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, VisionEncoderDecoderModel, ViTConfig, ViTModel
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.models.gpt2.modeling_gpt2 import GPT2Block
from transformers.models.vit.modeling_vit import ViTLayer

from benchmarks_suite.models import gpt2
from benchmarks_suite.models._text import PAD, count_tokens, labels_of
from benchmarks_suite.workload import Inputs, Sizes, Workload

BUCKETS = (8, 16, 24, 32, 48, 64, 128, 256)
MIXTURE = ((0.90, 5, 31), (0.99, 33, 63), (1.0, 65, 255))  # up to this quantile: lengths from, to
ENCODERS: Sizes = {
    "smoke": {
        "image_size": 64,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
    },
    "standard": {
        "image_size": 224,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
    },
}
DECODERS: Sizes = {
    "smoke": {"vocab_size": 1000, "n_positions": 256, "n_embd": 128, "n_layer": 2, "n_head": 4},
    "standard": {**gpt2.CONFIGS["standard"], "vocab_size": 1024},
}
HEADS = {"smoke": 4, "standard": 12}
LENGTHS = {"smoke": 32, "standard": 256}  # static profile


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    model = _model(size)
    side, vocabulary = ENCODERS[size]["image_size"], DECODERS[size]["vocab_size"]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        ids = _captions(generator, vocabulary, batch_size, LENGTHS[size], shapes)  # (batch, length)
        images = torch.randn(batch_size, 3, side, side, generator=generator)
        batch = {"pixel_values": images, "decoder_input_ids": ids}
        if mode == "training":
            batch["labels"] = labels_of(ids)
        return batch

    return Workload(
        module=model,
        inputs=inputs,
        items=lambda batch: count_tokens(batch["decoder_input_ids"]),
        item="tokens",
        output=lambda result: result.logits,  # (batch, length, vocabulary)
        loss=lambda result, batch: result.loss,
        blocks=(ViTLayer, GPT2Block),
        parts={"encoder": "encoder", "decoder": "decoder"},
        axes={
            "pixel_values": ("batch",),
            "decoder_input_ids": ("batch", "length"),
            "labels": ("batch", "length"),
        },
    )


def _model(size: str) -> Any:
    encoder = ViTModel(
        ViTConfig(**ENCODERS[size], num_attention_heads=HEADS[size]), add_pooling_layer=False
    )
    config = GPT2Config(
        **DECODERS[size],
        add_cross_attention=True,
        use_cache=False,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = VisionEncoderDecoderModel(encoder=encoder, decoder=GPT2LMHeadModel(config))
    model.loss_function = ForCausalLMLoss  # unset, the library warns while dynamo traces it
    model.config.decoder_start_token_id = 1
    model.config.pad_token_id = PAD
    return model


def _captions(
    generator: torch.Generator, vocabulary: int, batch_size: int, length: int, shapes: str
) -> Tensor:
    if shapes == "static":
        return torch.randint(1, vocabulary, (batch_size, length), generator=generator)
    quantile = float(torch.rand((), generator=generator))
    _, low, high = next(row for row in MIXTURE if quantile < row[0])
    drawn = int(torch.randint(low, high + 1, (), generator=generator))
    ids = torch.randint(1, vocabulary, (batch_size, drawn), generator=generator)
    if shapes == "bucketed":
        padded = next(bucket for bucket in BUCKETS if bucket >= drawn)
    else:
        padded = -(-drawn // 8) * 8
    return nn.functional.pad(ids, (0, padded - drawn), value=PAD)
