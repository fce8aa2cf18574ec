"""Environment of a job: torch, libraries, machine and settings, and a fingerprint of these."""

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import socket
from contextlib import suppress
from pathlib import Path

from benchmarks_suite.harness import nvml
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

LIBRARIES = (
    "transformers",
    "diffusers",
    "timm",
    "torchvision",
    "torchao",
    "triton",
    "accelerate",
)
SHOWN_VARIABLES = re.compile(
    r"(?!TORCHELASTIC_)"  # what torchrun sets for its ranks: another run id and folder each time
    r"(TORCH|PYTORCH|TRITON|CUDA|CUBLAS|CUDNN|NVIDIA|OMP|MKL|KMP)[A-Z0-9_]*"
)
_NOT_SHOWN = (
    # Of one job
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    # Of one device: a class of machines has several, and several hosts
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
)
_OF_ONE_MACHINE = ("host", "device_id")


def describe(job: Job) -> Document:
    """The ``environment`` of schema/result.v1.json.

    It works where torch cannot be imported, so that a failure has it too.
    """
    versions = {name: package_version(name) for name in LIBRARIES}
    document: Document = {
        "torch": _torch(),
        "python": platform.python_version(),
        "libraries": {name: version for name, version in versions.items() if version},
        "machine": _machine(job),
        "settings": _settings(job),
    }
    return {"fingerprint": fingerprint(document), **document}


def fingerprint(document: Document) -> str:
    """SHA-256 (first 16 hex digits) of the environment without the single machine and device."""
    machine = dict(document["machine"])
    for key in _OF_ONE_MACHINE:
        machine.pop(key, None)
    stable = {**document, "machine": machine}
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:16]


def package_version(name: str) -> str | None:
    """The version of an installed distribution, without importing it; None for no such one."""
    try:
        return importlib.metadata.version(name)[:80]
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> Document:
    try:
        import torch
    except ImportError:
        return {"version": package_version("torch") or "not installed"}
    cudnn = torch.backends.cudnn.version()
    return {
        "version": torch.__version__,
        "git_sha": torch.version.git_version,
        "cuda": torch.version.cuda,
        "cudnn": str(cudnn) if cudnn else None,
        "triton": package_version("triton") or package_version("pytorch-triton"),
    }


def _machine(job: Job) -> Document:
    machine = {
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "host": socket.gethostname()[:200],
    }
    if not job.on_gpu:
        return {**machine, "gpu": None}
    return machine | _gpu(int(job.device.partition(":")[2]))


def _gpu(index: int) -> Document:
    """Describe the device by what torch and NVML say of it.

    Nothing where torch sees none; the case then ends ``unsupported``.
    """
    try:
        import torch

        properties = torch.cuda.get_device_properties(index)
    except (ImportError, RuntimeError, AssertionError):
        return {"gpu": None}
    device = nvml.Device.of(index)
    return {
        "gpu": properties.name[:200],
        "gpu_memory_gb": round(properties.total_memory / 1e9, 1),
        "capability": f"{properties.major}.{properties.minor}",
        "driver": device.driver() if device else None,
        "device_id": device.uuid() if device else None,
    }


def cpu_name() -> str:
    """Return the name that the processor gives itself."""
    name = None
    with suppress(OSError):
        name = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    if name is None:
        return (platform.processor() or platform.machine())[:200]
    return name[1][:200]


def _settings(job: Job) -> Document:
    """Flags that matter: threads, precision, the variant, and what torch and its libraries read."""
    settings: Document = {
        "threads": job.measure.threads,
        "compile_threads": job.measure.compile_threads,
    }
    for key, value in sorted(job.inductor.items()):
        settings[f"inductor.{key}"] = value
    for key, value in sorted(os.environ.items()):
        if SHOWN_VARIABLES.fullmatch(key) and key not in _NOT_SHOWN:
            settings[f"env.{key}"] = value[:200]
    try:
        import torch
    except ImportError:
        return settings
    settings["float32_matmul_precision"] = torch.get_float32_matmul_precision()
    settings["cudnn.allow_tf32"] = torch.backends.cudnn.allow_tf32
    settings["cudnn.benchmark"] = torch.backends.cudnn.benchmark
    return dict(list(settings.items())[:100])
