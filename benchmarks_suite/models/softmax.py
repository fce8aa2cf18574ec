"""Softmax over long rows in plain torch: one kernel when fused. Rival: softmax_triton."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks_suite.models.rms_norm import rows_workload
from benchmarks_suite.workload import Workload

WIDTHS = {"smoke": 256, "standard": 8192}


class Softmax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        """x (rows, width), computed in float32 or wider."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        raised = torch.exp(wide - wide.amax(-1, keepdim=True))
        return (raised / raised.sum(-1, keepdim=True)).to(x.dtype)


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    workload = rows_workload(Softmax(), batch_size, WIDTHS[size])
    return replace(workload, library=lambda: nn.Softmax(dim=-1))
