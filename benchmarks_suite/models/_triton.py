"""Triton, or Triton's interpreter where there is no GPU: slow, for correctness only.

Triton decides at its import whether it interprets, so TRITON_INTERPRET=1 must be set before anything imports it (torch's
compiler does). Import this before triton.
"""

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

import torch

from benchmarks_suite.workload import Unsupported

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

INTERPRETED = not torch.cuda.is_available()

if find_spec("triton") is None:
    raise Unsupported("Triton is not installed in this environment; install the triton that this torch wants")
if INTERPRETED and os.environ.get("TRITON_INTERPRET") != "1":
    if "triton" in sys.modules:
        raise Unsupported("no GPU, and Triton was imported without its interpreter; set TRITON_INTERPRET=1 and start again")
    os.environ["TRITON_INTERPRET"] = "1"


def launcher(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Marks a function that launches a kernel: dynamo traces it on a GPU, and steps around it in the interpreter."""
    return torch.compiler.disable(function) if INTERPRETED else function
