"""Target of an environment: this computer's platform, with a GPU or without one."""

import platform
import re
import sys

# Of a torch that was built for CUDA: gigabytes that neither an import of torch nor a compile for
# the CPU loads. (libtorch_python of 2.4 is linked to nvtx, which stays.)
UNUSED_WITHOUT_GPU = re.compile(
    r"((pytorch-)?triton|cuda-(bindings|pathfinder|toolkit)"
    r"|nvidia-(cusolver|nvvm|cuda-(cccl|crt|nvcc))(-cu\d+)?)(==|$)"
)


def platform_name(device_kind: str) -> str:
    """The name under which the site keeps requirement sets: linux_x86_64-cp311-cpu."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{platform.system().lower()}_{platform.machine()}-{python}-{device_kind}"


def without_unused_packages(requirements: str, device_kind: str) -> str:
    """The `name==version` lines without those that this kind of device has no use for."""
    lines = requirements.splitlines()
    if device_kind == "cpu":
        lines = [line for line in lines if not UNUSED_WITHOUT_GPU.match(line)]
    return "\n".join(lines) + "\n"
