"""The plain MLP, its gradients averaged over all ranks by DistributedDataParallel."""

from dataclasses import replace

from benchmarks_suite.models import mlp
from benchmarks_suite.models._distributed import data_parallel
from benchmarks_suite.workload import Workload


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return replace(mlp.build(size, mode, shapes, batch_size), wrap=data_parallel)
