"""The drill's own model: the suite's smoke MLP, compiled with one more pass, which does nothing.

With TORCH_DRILL_EXTRA_CALLS in the environment (of a variant, say) that pass makes so many needless
calls each time that it runs: work of a known size, in the compiler alone.
"""

import os
from typing import Any

import torch._inductor.config
from torch._inductor.custom_graph_pass import CustomGraphPass

from benchmarks_suite.models.mlp import WIDTH_AND_DEPTH, mlp

EXTRA_CALLS = "TORCH_DRILL_EXTRA_CALLS"  # a variant may set variables of torch and its libraries


def benchmark_drill_mlp(batch_size: int = 64) -> Any:
    return mlp(*WIDTH_AND_DEPTH["smoke"], batch_size)


def does_nothing() -> None:
    """The extra work."""


class NeedlessPass(CustomGraphPass):
    def __call__(self, graph: torch.fx.Graph) -> None:
        for _ in range(int(os.environ.get(EXTRA_CALLS, "0"))):
            does_nothing()

    def uuid(self) -> str:
        """Return a constant as the key of the compiler's caches: whatever the pass does, it leaves
        every graph as it is.
        """
        return "compilewatch-drill"


torch._inductor.config.post_grad_custom_pre_pass = NeedlessPass()
