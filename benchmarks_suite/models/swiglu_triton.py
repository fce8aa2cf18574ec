"""SwiGLU's gate as a hand-written Triton kernel over the flat tensors."""

import torch
from torch import Tensor, nn

from benchmarks_suite.models import _triton  # before triton
from benchmarks_suite.models.swiglu import WIDTHS, gate_workload
from benchmarks_suite.workload import Workload

import triton  # isort: skip
import triton.language as tl  # isort: skip

BLOCK = 1024  # elements of one program


@triton.jit
def _kernel(gate_ptr, up_ptr, out_ptr, count, SIZE: tl.constexpr, WIDE: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    mask = index < count
    gate = tl.load(gate_ptr + index, mask=mask, other=0.0).to(WIDE)
    up = tl.load(up_ptr + index, mask=mask, other=0.0).to(WIDE)
    tl.store(out_ptr + index, gate / (1 + tl.exp(-gate)) * up, mask=mask)


@_triton.launcher
def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """gate, up: contiguous, of one shape."""
    wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
    out = torch.empty_like(gate)
    _kernel[(triton.cdiv(gate.numel(), BLOCK),)](gate, up, out, gate.numel(), SIZE=BLOCK, WIDE=wide)
    return out


class SwiGlu(nn.Module):
    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """gate, up (rows, width)."""
        return swiglu(gate, up)


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    _triton.check_device()
    return gate_workload(SwiGlu(), WIDTHS[size], batch_size)
