"""Softmax over long rows as a hand-written Triton kernel, one program a row."""

import torch
from torch import Tensor, nn

from benchmarks_suite.models import _triton  # before triton
from benchmarks_suite.models.rms_norm import rows_workload
from benchmarks_suite.models.softmax import WIDTHS
from benchmarks_suite.workload import Workload

import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def _kernel(x_ptr, out_ptr, width, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    x = tl.load(x_ptr + row * width + columns, mask=mask, other=-float("inf")).to(WIDE)
    raised = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * width + columns, raised / tl.sum(raised, axis=0), mask=mask)


@_triton.launcher
def softmax(x: Tensor) -> Tensor:
    """x (rows, width), contiguous."""
    wide = tl.float64 if x.dtype == torch.float64 else tl.float32
    out = torch.empty_like(x)
    _kernel[(len(x),)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), WIDE=wide)
    return out


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return softmax(x)


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    _triton.check_device()
    return rows_workload(Softmax(), batch_size, WIDTHS[size])
