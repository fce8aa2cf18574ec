"""One GPU, as NVIDIA's management library sees it. What cannot be read is absent."""

import importlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

# Bits of the clocks' event reasons that mean: slower than it could be, and not by idling
_THROTTLING = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "software thermal slowdown",
    0x0000000000000040: "hardware thermal slowdown",
    0x0000000000000080: "hardware power brake",
}


@dataclass(frozen=True)
class Reading:
    """One look at the device. Any field is None where the device does not tell.

    utilization_percent: share of the last sample period (about 0.1 s) in which a kernel ran.
        processes: how
    many use it.
    """

    utilization_percent: float | None
    power_w: float | None
    clock_mhz: float | None
    temperature_c: float | None
    throttling: tuple[str, ...]
    processes: int | None


@lru_cache
def _library() -> Any | None:
    """pynvml, initialized; None where it is not installed or finds no driver."""
    try:
        library = importlib.import_module("pynvml")
        library.nvmlInit()
    except (
        Exception
    ):  # the library raises its own error class, which exists only where it is installed
        return None
    return library


class Device:
    """A device by torch's index: its UUID leads from torch's numbering (CUDA_VISIBLE_DEVICES) to
    NVML's.
    """

    def __init__(self, library: Any, handle: Any) -> None:
        self._library, self._handle = library, handle

    @classmethod
    def of(cls, index: int) -> Self | None:
        """The device with torch's ``index``; None where NVML cannot be asked."""
        library = _library()
        if library is None:
            return None
        try:
            import torch

            properties = torch.cuda.get_device_properties(index)
            uuid = getattr(properties, "uuid", None)  # since torch 2.5
            if uuid is not None:
                return cls(library, library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}"))
            return cls(library, library.nvmlDeviceGetHandleByIndex(index))
        except Exception:
            return None

    def driver(self) -> str | None:
        return self._text("nvmlSystemGetDriverVersion")

    def uuid(self) -> str | None:
        return self._text("nvmlDeviceGetUUID", self._handle)

    def read(self) -> Reading:
        utilization = self._ask("nvmlDeviceGetUtilizationRates", self._handle)
        power_mw = self._ask("nvmlDeviceGetPowerUsage", self._handle)
        reasons = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", self._handle) or 0
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses", self._handle)
        return Reading(
            utilization_percent=float(utilization.gpu) if utilization is not None else None,
            power_w=power_mw / 1000 if power_mw is not None else None,
            clock_mhz=self._ask("nvmlDeviceGetClockInfo", self._handle, 1),  # 1: the SM clock
            # 0: the GPU's sensor
            temperature_c=self._ask("nvmlDeviceGetTemperature", self._handle, 0),
            throttling=tuple(name for bit, name in _THROTTLING.items() if reasons & bit),
            processes=len(processes) if processes is not None else None,
        )

    def _ask(self, function: str, *arguments: Any) -> Any | None:
        try:
            return getattr(self._library, function)(*arguments)
        except (
            Exception
        ):  # not supported on this device, driver or library version: the reading is absent
            return None

    def _text(self, function: str, *arguments: Any) -> str | None:
        answer = self._ask(function, *arguments)
        return (
            (answer.decode() if isinstance(answer, bytes) else str(answer))[:80]
            if answer is not None
            else None
        )
