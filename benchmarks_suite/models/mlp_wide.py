"""A shallow, wide MLP: nearly all matrix multiplication, which a compiler can hardly improve."""

from benchmarks_suite.models.mlp import mlp
from benchmarks_suite.workload import Workload

WIDTH_AND_DEPTH = {"smoke": (1024, 2), "standard": (8192, 4)}


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return mlp(*WIDTH_AND_DEPTH[size], batch_size)
