"""The device that a worker owns: its name, its lock, and what the driver says about it."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.locks import wait_for_lock

GIB = 1024**3


class DeviceError(Exception):
    """The device does not exist, or its lock cannot be taken."""


@dataclass(frozen=True)
class WorkerDevice:
    """The CPU, or one or several GPUs.

    kind: cpu or cuda; indices: which of the GPUs that this worker can see; several for jobs that
    need as many.
    """

    kind: str
    indices: tuple[int, ...] = (0,)

    @classmethod
    def parse(cls, name: str) -> "WorkerDevice":
        """`cpu`, `cuda`, `cuda:N`, or several as `cuda:N,M`; ValueError for anything else."""
        match = re.fullmatch(r"(cpu)|(cuda)(?::(\d+(?:,\d+)*))?", name.strip())
        if match is None:
            raise ValueError(f"{name!r} is not a device: cpu, cuda, cuda:N or cuda:N,M")
        if match[1]:
            return cls("cpu")
        indices = tuple(int(index) for index in (match[3] or "0").split(","))
        if len(set(indices)) < len(indices):
            raise ValueError(f"{name!r} names a GPU twice")
        return cls("cuda", indices)

    def __str__(self) -> str:
        if self.kind == "cpu":
            return "cpu"
        return f"cuda:{','.join(map(str, self.indices))}"

    def visible(self, environment: Mapping[str, str]) -> str:
        """The value of CUDA_VISIBLE_DEVICES that shows this device alone.

        For the CPU it is empty, which hides every GPU. Where the variable is set already (a
        container, a batch system), the indices count in that list.
        """
        if self.kind == "cpu":
            return ""
        listed = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        if not listed:
            return ",".join(map(str, self.indices))
        if max(self.indices) >= len(listed):
            raise DeviceError(
                f"WORKER_DEVICE is {self}, but CUDA_VISIBLE_DEVICES shows {len(listed)} GPUs: "
                "lower it"
            )
        return ",".join(listed[index] for index in self.indices)


@contextmanager
def lock_devices(
    lock_dir: Path, names: Iterable[str], tick: Callable[[float], None]
) -> Iterator[list[int]]:
    """Hold the locks of several devices, as `lock_device` does for one.

    Everybody takes them in one order: a job for two GPUs and jobs for one of them wait for each
    other, and never deadlock.
    """
    with ExitStack() as held:
        yield [held.enter_context(lock_device(lock_dir, name, tick)) for name in sorted(names)]


@contextmanager
def lock_device(lock_dir: Path, name: str, tick: Callable[[float], None]) -> Iterator[int]:
    """Hold the lock of the device `name` (cpu, or the GPU's UUID); yields the lock's descriptor.

    Given to the suite's process, the descriptor keeps the device locked for as long as a process of
    that job lives, even when the worker is killed: the kernel releases the lock with its last
    holder. While another holds it, `tick(seconds waited)` is called about twice a second; it may
    raise to give up.
    """
    descriptor = _open(_lock_path(lock_dir, name))
    try:
        wait_for_lock(descriptor, tick)
        yield descriptor
    finally:
        # Not LOCK_UN, which would unlock it under a process of the job that still lives
        os.close(descriptor)


def lock_holder(lock_dir: Path, names: Iterable[str]) -> str:
    """Name the holder of one of the devices' locks: "process 77 in /srv/other", as far as seen.

    The kernel lists the process that took it; one in another container, or that has ended and left
    the lock to its children, has no folder.
    """
    paths = [_lock_path(lock_dir, name) for name in names]
    inodes = [str(path.stat().st_ino) for path in paths if path.exists()]
    for line in Path("/proc/locks").read_text().splitlines():
        kind, _, _, process, place = line.partition(" ")[2].split()[:5]
        is_ours = process == str(os.getpid())
        if kind == "FLOCK" and place.rpartition(":")[2] in inodes and not is_ours:
            with suppress(OSError):
                return f"process {process} in {Path(f'/proc/{process}/cwd').readlink()}"
            return f"process {process}"
    return "another process"


def _lock_path(lock_dir: Path, name: str) -> Path:
    return lock_dir / f"compilewatch-{re.sub(r'[^A-Za-z0-9]', '-', name)}.lock"


def _open(path: Path) -> int:
    """Open a lock file.

    Without O_CREAT where it exists: in a sticky folder Linux forbids O_CREAT on another user's
    file.
    """
    with suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)


def gpu_info(device: WorkerDevice, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """Ask NVML about the device: name, uuid, memory_gb, capability, driver; None for the CPU.

    Of several GPUs, return what NVML says about the first, with the `uuids` of all.
    Raises DeviceError where WORKER_DEVICE names a GPU and the driver or nvidia-ml-py is missing.
    """
    if device.kind == "cpu":
        return None
    try:
        import pynvml
    except ImportError as error:
        raise DeviceError(
            "WORKER_DEVICE names a GPU, but nvidia-ml-py is not installed: pip install nvidia-ml-py"
        ) from error
    try:
        pynvml.nvmlInit()
        try:
            gpus = [_query(pynvml, name) for name in device.visible(environment).split(",")]
            return {**gpus[0], "uuids": [gpu["uuid"] for gpu in gpus]}
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        raise DeviceError(
            f"WORKER_DEVICE is {device}, but NVML says: {error}. Check with `nvidia-smi`"
        ) from error


def _query(nvml: Any, name: str) -> dict[str, Any]:
    """name: a GPU's index or UUID, as CUDA_VISIBLE_DEVICES lists them."""
    if name.isdigit():
        handle = nvml.nvmlDeviceGetHandleByIndex(int(name))
    else:
        handle = nvml.nvmlDeviceGetHandleByUUID(name)
    return {
        "name": nvml.nvmlDeviceGetName(handle),
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "memory_gb": round(nvml.nvmlDeviceGetMemoryInfo(handle).total / GIB, 2),
        "capability": ".".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(handle))),
        "driver": nvml.nvmlSystemGetDriverVersion(),
    }
