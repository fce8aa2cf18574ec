"""Which share of the machine's ceilings a step achieves."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks_suite.harness.arms import Arm, restored_state
from benchmarks_suite.harness.prepared import Prepared


def flops_of(prepared: Prepared, arm: Arm) -> float:
    """Floating-point operations of one step's matmuls, convolutions and attention: mean over the batches.

    Counted by torch.utils.flop_counter on the eager arm: what the model asks for, whatever a compiler makes of it.
    """
    with restored_state(arm), FlopCounterMode(display=False) as counter:
        for batch in prepared.batches:
            arm.step(batch)
    return float(counter.get_total_flops()) / len(prepared.batches)


def least_bytes(prepared: Prepared) -> float:
    """Bytes that one inference step must move at least: each weight and each input read once."""
    weights = sum(tensor.nbytes for tensor in prepared.module.parameters())
    tensors = [value for batch in prepared.batches for value in batch.values() if isinstance(value, torch.Tensor)]
    return weights + sum(tensor.nbytes for tensor in tensors) / len(prepared.batches)
