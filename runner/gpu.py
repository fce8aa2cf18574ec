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
    """The device is not there, or its lock cannot be had."""


@dataclass(frozen=True)
class Device:
    """kind: cpu or cuda; indices: which of the GPUs that this worker can see; several for jobs that
    need as many.
    """

    kind: str
    indices: tuple[int, ...] = (0,)

    @classmethod
    def parse(cls, name: str) -> "Device":
        """`cpu`, `cuda`, `cuda:N`, or several as `cuda:N,M`; ValueError for anything else."""
        found = re.fullmatch(r"(cpu)|(cuda)(?::(\d+(?:,\d+)*))?", name.strip())
        if not found:
            raise ValueError(f"{name!r} is no device: cpu, cuda, cuda:N or cuda:N,M")
        indices = tuple(int(index) for index in (found[3] or "0").split(","))
        if len(set(indices)) < len(indices):
            raise ValueError(f"{name!r} names a GPU twice")
        return cls("cpu") if found[1] else cls("cuda", indices)

    def __str__(self) -> str:
        return self.kind if self.kind == "cpu" else f"cuda:{','.join(map(str, self.indices))}"

    def visible(self, environment: Mapping[str, str]) -> str:
        """The value of CUDA_VISIBLE_DEVICES that shows this device alone; empty, which hides every
        GPU, for the CPU.

        Where the variable is set already (a container, a batch system), the indices count in that
        list.
        """
        if self.kind == "cpu":
            return ""
        listed = [name for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        if listed and max(self.indices) >= len(listed):
            raise DeviceError(
                f"WORKER_DEVICE is {self}, but CUDA_VISIBLE_DEVICES shows {len(listed)} GPUs: "
                "lower it"
            )
        return ",".join(listed[index] if listed else str(index) for index in self.indices)


@contextmanager
def all_locked(
    lock_dir: Path, names: Iterable[str], tick: Callable[[float], None]
) -> Iterator[list[int]]:
    """Hold the locks of several devices, as `locked` does for one.

    Everybody takes them in one order, so that a job for two GPUs and jobs for one of them wait for
    each other and never both for ever.
    """
    with ExitStack() as held:
        yield [held.enter_context(locked(lock_dir, name, tick)) for name in sorted(names)]


@contextmanager
def locked(lock_dir: Path, name: str, tick: Callable[[float], None]) -> Iterator[int]:
    """Hold the lock of the device `name` (cpu, or the GPU's UUID); yields the lock's file
    descriptor.

    Given to the suite's process, the descriptor keeps the device locked for as long as a process of
    that job lives, even when the worker is killed: the kernel lets go of the lock with the last
    holder. While another holds it,
    `tick(seconds waited)` is called about twice a second; it may raise to give up.
    """
    descriptor = _open(lock_dir / f"compilewatch-{re.sub(r'[^A-Za-z0-9]', '-', name)}.lock")
    try:
        wait_for_lock(descriptor, tick)
        yield descriptor
    finally:
        # Not LOCK_UN, which would unlock it under a process of the job that still lives
        os.close(descriptor)


def _open(path: Path) -> int:
    """Opened without O_CREAT where it exists: in a sticky folder Linux forbids O_CREAT on another
    user's file.
    """
    with suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY)
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)


def facts(device: Device, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """What NVML says about the device: name, uuid, memory_gb, capability, driver; None for the CPU.

    Of several GPUs it is what it says about the first, with `uuids` of all.
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
            found = [_ask(pynvml, name) for name in device.visible(environment).split(",")]
            return {**found[0], "uuids": [each["uuid"] for each in found]}
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        raise DeviceError(
            f"WORKER_DEVICE is {device}, but NVML says: {error}. Check with `nvidia-smi`"
        ) from error


def _ask(nvml: Any, visible: str) -> dict[str, Any]:
    by_index = visible.isdigit()
    handle = (
        nvml.nvmlDeviceGetHandleByIndex(int(visible))
        if by_index
        else nvml.nvmlDeviceGetHandleByUUID(visible)
    )
    return {
        "name": nvml.nvmlDeviceGetName(handle),
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "memory_gb": round(nvml.nvmlDeviceGetMemoryInfo(handle).total / GIB, 2),
        "capability": ".".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(handle))),
        "driver": nvml.nvmlSystemGetDriverVersion(),
    }
