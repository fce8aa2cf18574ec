"""What the diffusion models share: latents with noise in them, time steps, and the loss."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks_suite.workload import Inputs, Workload


def denoiser(
    module: nn.Module,
    blocks: tuple[type[nn.Module], ...],
    shape: tuple[int, ...],
    conditions: Callable[[torch.Generator], Inputs],
    call: Callable[[nn.Module, Inputs], Any],
) -> Workload:
    """One step of a model that predicts the noise.

    shape: of the latents, (batch, channels, side, side).
    conditions: draws what else the step is given, such as the text.
    """

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "sample": torch.randn(shape, generator=generator),
            "timestep": torch.randint(1000, shape[:1], generator=generator),  # (batch,)
            **conditions(generator),
            "noise": torch.randn(shape, generator=generator),
        }

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: len(batch["sample"]),
        item="images",
        call=call,
        output=lambda result: result.sample,
        loss=lambda result, batch: nn.functional.mse_loss(
            result.sample.float(), batch["noise"].float()
        ),
        blocks=blocks,
    )
