"""Bytes that the Triton kernels of Inductor read and write, as it estimates them.

Inductor knows this only while it writes a kernel: not afterwards, and not where the code comes from
a cache. So each process that may compile notes it in the folder of the caches, where the one that
profiles finds it, whichever of them has compiled.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import triton_kernels

FILE = "kernel-traffic.jsonl"


def observe() -> None:
    """From now on each kernel that Inductor writes in this process is noted.

    A release without this method, or whose estimate fails for a kernel, leaves it out.
    """
    from torch._inductor.codegen.triton import TritonKernel

    write: Any = TritonKernel.codegen_kernel
    if hasattr(write, "is_observed"):
        return

    def codegen_kernel(kernel: Any, *arguments: Any, **options: Any) -> Any:
        source = write(kernel, *arguments, **options)
        with suppress(Exception):  # a failing estimate must not end the compilation
            _note(source, int(kernel.estimate_kernel_num_bytes()))
        return source

    codegen_kernel.is_observed = True  # type: ignore[attr-defined]
    TritonKernel.codegen_kernel = codegen_kernel  # type: ignore[assignment, method-assign]


def noted() -> dict[str, int]:
    """Fingerprint of a kernel's source (triton_kernels.fingerprint) -> bytes of one call."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if not folder or not (Path(folder) / FILE).exists():
        return {}
    traffic: dict[str, int] = {}
    for line in (Path(folder) / FILE).read_text().splitlines():
        note = json.loads(line)
        traffic[note["source"]] = note["bytes"]
    return traffic


def _note(source: str, size: int) -> None:
    from torch._inductor.utils import Placeholder

    # What Inductor calls a kernel until it has written its source
    fingerprint = triton_kernels.fingerprint(str(Placeholder.KERNEL_NAME), source)
    line = json.dumps({"source": fingerprint, "bytes": size})
    with (Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / FILE).open("a") as file:
        file.write(line + "\n")
