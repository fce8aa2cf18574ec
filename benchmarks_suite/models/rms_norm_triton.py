"""RMSNorm as a hand-written Triton kernel, one program a row: the compiler's rival.

In eager the kernel is launched from Python; in a compiled graph it is called by the generated code.
"""

from typing import Any

import torch
from torch import Tensor

from benchmarks_suite.models import _triton, rms_norm  # before triton
from benchmarks_suite.models.rms_norm import EPSILON, WIDTHS, rows_workload
from benchmarks_suite.workload import Workload

import triton  # isort: skip
import triton.language as tl  # isort: skip


@triton.jit
def _forward_kernel(
    x_ptr, weight_ptr, out_ptr, scale_ptr, width, epsilon, BLOCK: tl.constexpr, WIDE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    x = tl.load(x_ptr + row * width + columns, mask=mask, other=0.0).to(WIDE)
    scale = 1 / tl.sqrt(tl.sum(x * x, axis=0) / width + epsilon)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(WIDE)
    tl.store(out_ptr + row * width + columns, x * scale * weight, mask=mask)
    tl.store(scale_ptr + row, scale)


@triton.jit
def _backward_kernel(
    grad_ptr, x_ptr, weight_ptr, scale_ptr, out_ptr, width, BLOCK: tl.constexpr, WIDE: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    mask = columns < width
    x = tl.load(x_ptr + row * width + columns, mask=mask, other=0.0).to(WIDE)
    weight = tl.load(weight_ptr + columns, mask=mask, other=0.0).to(WIDE)
    grad = tl.load(grad_ptr + row * width + columns, mask=mask, other=0.0).to(WIDE) * weight
    scale = tl.load(scale_ptr + row)
    mean = tl.sum(grad * x, axis=0) / width
    tl.store(out_ptr + row * width + columns, scale * (grad - x * mean * scale * scale), mask=mask)


@_triton.launcher
def _forward(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """x (rows, width) -> the normalized rows, and 1 / root mean square of each row."""
    wide = torch.promote_types(x.dtype, torch.float32)
    out = torch.empty_like(x)
    scale = torch.empty(len(x), dtype=wide, device=x.device)
    _forward_kernel[(len(x),)](x, weight, out, scale, x.shape[1], EPSILON, **_constants(x))
    return out, scale


@_triton.launcher
def _backward(grad: Tensor, x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """grad, x (rows, width) -> the gradient of x."""
    out = torch.empty_like(x)
    _backward_kernel[(len(x),)](grad, x, weight, scale, out, x.shape[1], **_constants(x))
    return out


def _constants(x: Tensor) -> dict[str, Any]:
    wide = tl.float64 if x.dtype == torch.float64 else tl.float32
    return {"BLOCK": triton.next_power_of_2(x.shape[1]), "WIDE": wide}


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        out, scale = _forward(x, weight)
        ctx.save_for_backward(x, weight, scale)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        x, weight, scale = ctx.saved_tensors
        grad_weight = (grad * x * scale[:, None]).sum(0).to(weight.dtype)  # (width,)
        return _backward(grad.contiguous(), x, weight, scale), grad_weight


class RmsNorm(rms_norm.RmsNorm):
    def forward(self, x: Tensor) -> Tensor:
        """x (rows, width), contiguous."""
        out: Tensor = _RmsNorm.apply(x, self.weight)  # type: ignore[no-untyped-call]
        return out


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    _triton.check_device()
    return rows_workload(RmsNorm(WIDTHS[size]), batch_size, WIDTHS[size])
