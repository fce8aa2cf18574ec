"""What an environment is made for: this computer's platform, and which packages a machine without a
GPU never loads.
"""

import platform
import re
import sys

# What neither an import of torch nor a compile for the CPU loads, of a torch that was built for
# CUDA: gigabytes. (libtorch_python of 2.4 is linked to nvtx, which stays.)
NOT_FOR_CPU = re.compile(
    r"(pytorch-)?triton|cuda-(bindings|pathfinder|toolkit)"
    r"|nvidia-(cusolver|nvvm|cuda-(cccl|crt|nvcc))(-cu\d+)?"
)


def platform_of(device_kind: str) -> str:
    """The name under which the site keeps requirement sets: linux_x86_64-cp311-cpu."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{platform.system().lower()}_{platform.machine()}-{python}-{device_kind}"


def needed(requirements: str, device_kind: str) -> str:
    """The `name==version` lines without those that this kind of device has no use for."""
    lines = requirements.splitlines()
    if device_kind == "cpu":
        lines = [line for line in lines if not NOT_FOR_CPU.fullmatch(line.partition("==")[0])]
    return "\n".join(lines) + "\n"
