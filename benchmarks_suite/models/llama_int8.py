"""Llama with weights rounded to int8 by torchao: decoding is bound by reading weights."""

from dataclasses import replace
from importlib.util import find_spec

from torch import nn

from benchmarks_suite.models import llama
from benchmarks_suite.workload import Unsupported, Workload


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    if find_spec("torchao") is None:
        raise Unsupported(
            "torchao is not installed in this environment; install the torchao made for this torch"
        )
    return replace(llama.build(size, mode, shapes, batch_size), wrap=_quantize)


def _quantize(module: nn.Module) -> nn.Module:
    """Rounds the weights of every Linear in place, with one scale for each output row."""
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    quantize_(module, Int8WeightOnlyConfig())
    return module
