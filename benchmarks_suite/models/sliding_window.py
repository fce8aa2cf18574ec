"""Causal attention in a sliding window by FlexAttention, with its projections.

Compiled it is one kernel that visits only the blocks inside the window. Eager computes every score:
(heads, length, length) in float32 is 69 GB at standard size, so that the eager arm runs out of
memory where the compiled one needs little.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from benchmarks_suite.models.rms_norm import rows_workload
from benchmarks_suite.workload import Unsupported, Workload

BLOCK = 128  # rows and columns of one block of the mask
SHAPES = {  # heads, width of a head, length, window: positions that a query sees, itself included
    "smoke": (4, 32, 512, 128),
    "standard": (16, 64, 32768, 1024),
}


class SlidingWindow(nn.Module):
    def __init__(self, heads: int, width: int, length: int, window: int) -> None:
        super().__init__()
        self.heads, self.width = heads, width
        self.project = nn.Linear(heads * width, 3 * heads * width, bias=False)
        self.back = nn.Linear(heads * width, heads * width, bias=False)
        self.mask = block_mask(length, window)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """The mask is not a tensor: it does not move with the module by itself."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.mask = self.mask.to(self.back.weight.device)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """x (batch, length, heads * width)."""
        projected = self.project(x).unflatten(-1, (3 * self.heads, self.width)).transpose(1, 2)
        query, key, value = projected.chunk(3, dim=1)  # (batch, heads, length, width)
        out: Tensor = self.back(self.attend(query, key, value).transpose(1, 2).flatten(2))
        return out

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention of (batch, heads, length, width) each."""
        attended = flex_attention(query, key, value, block_mask=self.mask)
        assert isinstance(attended, Tensor)
        return attended


class MaskedAttention(SlidingWindow):
    """The same by scaled_dot_product_attention and a mask of (length, length)."""

    visible: Tensor

    def __init__(self, heads: int, width: int, length: int, window: int) -> None:
        super().__init__(heads, width, length, window)
        distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        visible = (distance >= 0) & (distance < window)
        self.register_buffer("visible", visible, persistent=False)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value, self.visible)


def block_mask(length: int, window: int) -> BlockMask:
    """Which blocks of BLOCK x BLOCK positions are seen in part or in full.

    The library's create_block_mask finds the same, but first writes down all length**2 positions.
    """

    def visible(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return (query >= key) & (query - key < window)

    blocks = length // BLOCK
    query = torch.arange(blocks)[:, None]
    key = torch.arange(blocks)[None, :]
    nearest = (query - key) * BLOCK - (BLOCK - 1)  # smallest query - key in the block
    farthest = nearest + 2 * (BLOCK - 1)  # and the largest
    full = (nearest >= 0) & (farthest < window)
    partial = (key <= query) & (nearest < window) & ~full
    return BlockMask.from_kv_blocks(
        *_numbered(partial), *_numbered(full), BLOCK_SIZE=BLOCK, mask_mod=visible
    )


def _numbered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many are set in each row (1, 1, rows), and the columns, those that are set first
    (1, 1, rows, columns). blocks: (rows, columns) of bool.
    """
    order = blocks.int().argsort(dim=1, descending=True, stable=True).int()
    return blocks.sum(1).int()[None, None], order[None, None]


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    if mode == "training" and not torch.cuda.is_available():
        raise Unsupported(
            "FlexAttention has no backward pass on the CPU; measure its training on a GPU"
        )
    heads, width, length, window = SHAPES[size]
    module = SlidingWindow(heads, width, length, window)
    return replace(
        rows_workload(module, batch_size, length, heads * width),
        item="tokens",
        library=lambda: MaskedAttention(heads, width, length, window),
    )
