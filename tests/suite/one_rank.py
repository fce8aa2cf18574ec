"""One rank of the distributed workloads' training steps, for test_models_distributed.py: run by
torchrun.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor

from benchmarks_suite.harness.generator import fill_weights
from benchmarks_suite.loading import load
from benchmarks_suite.registry import BENCHMARKS


def main(names: list[str]) -> None:
    """Prints for each workload its model, the sum of all gradients' sizes, and how many parameters
    this rank keeps.
    """
    dist.init_process_group("gloo")
    for name in names:
        train(name)
    dist.barrier()
    dist.destroy_process_group()
    os._exit(0)  # threads of gloo may abort a process that ends in the ordinary way


def train(name: str) -> None:
    workload = load(BENCHMARKS[name])
    fill_weights(workload.module, seed=0)
    assert workload.wrap is not None
    assert workload.loss is not None
    module = workload.wrap(workload.module.eval())
    batch = workload.inputs(0, torch.Generator().manual_seed(dist.get_rank()))
    workload.loss(workload.call(module, batch), batch).backward()

    total = sum(
        float(whole(parameter.grad).double().abs().sum()) for parameter in module.parameters()
    )
    kept = sum(own(parameter).numel() for parameter in module.parameters())
    line = f"model={BENCHMARKS[name].model} gradients={total:.9g} parameters={kept}\n"
    os.write(1, line.encode())  # in one piece: the other rank writes to the same pipe


def whole(gradient: Tensor | None) -> Tensor:
    assert gradient is not None
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient


def own(parameter: Tensor) -> Tensor:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


if __name__ == "__main__":
    main(sys.argv[1:])
