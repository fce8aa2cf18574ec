"""Triton, or its interpreter where there is no GPU: slow, for correctness only.

Import this before triton.
"""

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

import torch

from benchmarks_suite.workload import Unsupported

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # Triton reads it once, when it is imported

if find_spec("triton") is None:
    raise Unsupported(
        "Triton is not installed in this environment; install the triton that this torch wants"
    )


def check_device() -> None:
    """Raises Unsupported where no kernel can run.

    Call it when a model is built: at import it would open the device, and the process could no
    longer be forked.
    """
    if not INTERPRETED and not torch.cuda.is_available():
        raise Unsupported(
            "no GPU: for Triton's interpreter set TRITON_INTERPRET=1 before anything imports torch"
        )


def launcher(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Marks a function that launches a kernel: dynamo traces it, but not the interpreter."""
    return torch.compiler.disable(function) if INTERPRETED else function
