"""One rank of the distributed workloads' training steps; test_models_distributed.py runs it."""

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

    gradients, parameters = 0.0, 0
    for parameter in module.parameters():
        gradients += float(whole(parameter.grad).double().abs().sum())
        parameters += own(parameter).numel()
    line = f"model={BENCHMARKS[name].model} gradients={gradients:.9g} parameters={parameters}\n"
    os.write(1, line.encode())  # in one piece: the other rank writes to the same pipe


def whole(gradient: Tensor | None) -> Tensor:
    assert gradient is not None
    return gradient.full_tensor() if isinstance(gradient, DTensor) else gradient


def own(parameter: Tensor) -> Tensor:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter


if __name__ == "__main__":
    main(sys.argv[1:])
