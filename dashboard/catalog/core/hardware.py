"""The class of a machine: its key follows from its hardware, so that equals share series."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dashboard.language.wording import plural

NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
CPU_SIZE, GPU_SIZE = "smoke", "standard"  # sizes of benchmarks


@dataclass(frozen=True, slots=True)
class Hardware:
    """Facts that a row of Machine needs."""

    key: str  # cpu-2c, h200
    label: str  # for people
    device_kind: str  # cpu or cuda
    default_size: str  # the size of benchmarks that suits it


def hardware(*, gpu: str | None, cpu: str, cores: int) -> Hardware:
    """The class of a machine with this GPU (its marketing name), or with none."""
    if gpu:
        return Hardware(gpu_key(gpu), gpu, "cuda", GPU_SIZE)
    return Hardware(f"cpu-{cores}c", f"{cpu}, {plural(cores, 'core')}", "cpu", CPU_SIZE)


def gpu_key(name: str) -> str:
    """`NVIDIA H200` -> `h200`; `NVIDIA A100-SXM4-80GB` -> `a100-sxm4-80gb`."""
    short = re.sub(r"\b(nvidia|amd|geforce|tesla|instinct)\b", "", name.lower())
    return machine_key(short) or "gpu"


def machine_key(name: str) -> str:
    """A machine's own name as a key: `Build box 1` -> `build-box-1`."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]


def this_machine(device: str) -> Hardware:
    """The class of this machine as a worker on `device` (cpu, cuda:0) measures it.

    Raises OSError or CalledProcessError when a GPU's name cannot be read.
    """
    cpu = cpu_model(Path("/proc/cpuinfo").read_text())
    cores = len(os.sched_getaffinity(0))
    if not device.startswith("cuda"):
        return hardware(gpu=None, cpu=cpu, cores=cores)
    index = device.partition(":")[2] or "0"
    query = subprocess.run(
        [*NVIDIA_SMI, f"--id={index}"], capture_output=True, text=True, check=True, timeout=30
    )
    return hardware(gpu=query.stdout.strip(), cpu=cpu, cores=cores)


def cpu_model(cpuinfo: str) -> str:
    """As the kernel names it; ARM kernels name none."""
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else f"{os.uname().machine} CPU"
