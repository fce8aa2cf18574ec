"""What Inductor expects its Triton kernels to read and write."""

import json
import os
import subprocess
import sys
from pathlib import Path

# Inductor writes Triton kernels for a CPU, too, where a driver seems to be there; they cannot be
# compiled then, which is after what is looked at here
PROGRAM = """
import json, os
from contextlib import suppress
from pathlib import Path

import torch, triton
from torch._inductor import config
from triton.backends.compiler import GPUTarget
from benchmarks_suite.harness import kernel_traffic, triton_kernels

class Driver:
    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_device_interface(self):
        return torch.cpu

    def get_current_device(self):
        return 0

triton.runtime.driver.set_active(Driver())
config.cpu_backend, config.compile_threads = "triton", 1
kernel_traffic.observe()
kernel_traffic.observe()
with suppress(Exception):
    torch.compile(lambda x, y: (x * 2 + y).relu().sum(1))(torch.ones(64, 32), torch.ones(64, 32))
sources = []
for wrapper in Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*.py"):
    for kernel in triton_kernels.in_wrapper(wrapper.read_text()).values():
        sources.append(kernel["source"])
print(json.dumps({"noted": kernel_traffic.noted(), "sources": sources}))
"""


def test_bytes_of_a_kernel_are_found_by_the_source_it_was_given(tmp_path: Path) -> None:
    """Two inputs of 64 × 32 and an output of 64 float32, read or written once."""
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "PYTHONPATH": "."}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    answer = json.loads(ended.stdout)
    assert list(answer["noted"]) == answer["sources"]
    assert list(answer["noted"].values()) == [4 * (2 * 64 * 32 + 64)]
