"""What the language models share: batches of token ids, four modes, steps on a static KV cache."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.loss.loss_utils import ForCausalLMLoss

from benchmarks_suite.workload import Inputs, Workload

PAD = 0  # never drawn as a token


def token_ids(
    generator: torch.Generator, vocabulary: int, batch_size: int, length: int, shapes: str
) -> Tensor:
    """Token ids, (batch, length).

    static: of this length; dynamic: of a quarter of it to all of it; bucketed: the same, padded at
    the right to a multiple of an eighth.
    """
    if shapes == "static":
        return torch.randint(1, vocabulary, (batch_size, length), generator=generator)
    drawn = int(torch.randint(length // 4, length + 1, (), generator=generator))
    ids = torch.randint(1, vocabulary, (batch_size, drawn), generator=generator)
    if shapes == "dynamic":
        return ids
    return nn.functional.pad(ids, (0, -drawn % (length // 8)), value=PAD)


def labels_of(ids: Tensor) -> Tensor:
    """The ids themselves; padding is -100, which the loss leaves out. The loss shifts them."""
    return ids.masked_fill(ids == PAD, -100)


def count_tokens(ids: Tensor) -> int:
    return int((ids != PAD).sum())


class Slots(nn.Module):
    """Keys and values of one layer, each (batch, heads, length, width).

    They are buffers, so that CUDA graphs keep them, and start as waves, not zeros: attention over
    zeros would be exact in any precision.
    """

    keys: Tensor
    values: Tensor

    def __init__(self, *shape: int) -> None:
        super().__init__()
        positions = torch.arange(torch.Size(shape).numel(), dtype=torch.float32)
        wave = positions.mul_(0.618).sin_().view(shape)
        self.register_buffer("keys", wave)
        self.register_buffer("values", wave.flip(2))


class KeyValueCache(nn.ModuleList):
    """A static KV cache, as transformers' models use one. Each step says where it writes.

    transformers' own StaticCache counts the positions itself: its n-th step differs from its first,
    and equal inputs would not give equal outputs in each arm.
    """

    position: Tensor  # (steps,)

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any) -> tuple[Tensor, Tensor]:
        """Writes keys and values, (batch, heads, steps, width), and returns the whole of both."""
        slots = self[layer]
        assert isinstance(slots, Slots)
        slots.keys.index_copy_(2, self.position, keys)
        slots.values.index_copy_(2, self.position, values)
        return slots.keys, slots.values

    def get_seq_length(self, *_: Any) -> int:
        return 0  # used in prefill only, which starts at the first position

    def get_query_offset(self, *_: Any) -> int:
        return 0

    def get_mask_sizes(self, query_length: int, *_: Any) -> tuple[int, int]:
        return query_length, 0


class Step(nn.Module):
    """A forward pass that writes the KV cache and returns the last token's logits.

    They are (batch, 1, vocabulary).
    """

    def __init__(
        self, model: nn.Module, batch_size: int, heads: int, length: int, width: int, layers: int
    ) -> None:
        super().__init__()
        self.model = model
        self.length = length
        self.cache = KeyValueCache(Slots(batch_size, heads, length, width) for _ in range(layers))


class Prefill(Step):
    """The whole prompt at once, as long as the cache.

    The library takes the causal path without a mask.
    """

    def forward(self, input_ids: Tensor, position: Tensor) -> Tensor:
        """input_ids (batch, length), position (length,): 0, 1, 2 ..."""
        self.cache.position = position
        logits: Tensor = self.model(input_ids, past_key_values=self.cache, logits_to_keep=1).logits
        return logits


class Decode(Step):
    """One token against everything before it."""

    def forward(self, input_ids: Tensor, position: Tensor) -> Tensor:
        """input_ids (batch, 1), position (1,)."""
        self.cache.position = position
        visible = torch.arange(self.length, device=position.device) <= position  # (length,)
        logits: Tensor = self.model(
            input_ids,
            past_key_values=self.cache,
            position_ids=position[None],
            attention_mask=visible[None, None, None],
        ).logits
        return logits


def causal_lm(
    model: Any, block: type[nn.Module], mode: str, shapes: str, batch_size: int, length: int
) -> Workload:
    """A decoder-only model of transformers in one of its four modes.

    length: of the text, or of the KV cache.

    In inference and training the causal mask is left to the library, as its users do: in eager it
    looks whether it can do without a mask (which waits for the device); traced it cannot look, and
    hands attention a written mask.
    """
    # Unset, the library warns while dynamo traces it: two graph breaks
    model.loss_function = ForCausalLMLoss
    if mode in ("prefill", "decode"):
        return _step_workload(model, block, mode, batch_size, length)

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        # (batch, length)
        ids = token_ids(generator, model.config.vocab_size, batch_size, length, shapes)
        if mode != "training":
            return {"input_ids": ids}
        return {"input_ids": ids, "labels": labels_of(ids)}

    return Workload(
        module=model,
        inputs=inputs,
        items=lambda batch: count_tokens(batch["input_ids"]),
        item="tokens",
        output=lambda result: result.logits,  # (batch, length, vocabulary)
        loss=lambda result, batch: result.loss,  # the model makes it, so that the compiler sees it
        blocks=(block,),
        axes={"input_ids": ("batch", "length"), "labels": ("batch", "length")},
    )


def _step_workload(
    model: Any, block: type[nn.Module], mode: str, batch_size: int, length: int
) -> Workload:
    config = model.config
    heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    step = {"prefill": Prefill, "decode": Decode}[mode]

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        if mode == "prefill":
            first, count = 0, length
        else:
            first, count = length // 2 + index % (length // 2), 1  # from half full to full
        ids = token_ids(generator, config.vocab_size, batch_size, count, "static")
        return {
            "input_ids": ids,  # (batch, count)
            "position": torch.arange(first, first + count),  # (count,)
        }

    return Workload(
        module=step(model, batch_size, heads, length, width, config.num_hidden_layers),
        inputs=inputs,
        items=lambda batch: batch["input_ids"].numel(),
        item="tokens",
        blocks=(block,),
    )
