"""One GPU, as NVIDIA's management library sees it. What cannot be read is absent."""

import importlib
import os
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
    """One look at the device. Any field is None where the device does not report it.

    utilization_percent: share of the last sample period (about 0.1 s) in which a kernel ran.
    processes: how many use it.
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
    # The library raises its own error class, which exists only where it is installed
    except Exception:
        return None
    return library


class Device:
    """A device by torch's index.

    Its UUID leads from torch's numbering (CUDA_VISIBLE_DEVICES) to NVML's; before torch 2.5, which
    does not name it, the variable itself.
    """

    def __init__(self, library: Any, handle: Any) -> None:
        self._library, self._handle = library, handle

    @classmethod
    def of(cls, index: int) -> Self | None:
        """The device with torch's ``index``; None where NVML does not answer, or where it is
        not known which device that is: no reading is better than another device's.
        """
        library = _library()
        if library is None:
            return None
        try:
            import torch

            properties = torch.cuda.get_device_properties(index)
            uuid = getattr(properties, "uuid", None)  # since torch 2.5
            if uuid is not None:
                return cls(library, library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}"))
            return cls._visible(library, index)
        except Exception:
            return None

    @classmethod
    def _visible(cls, library: Any, index: int) -> Self:
        """The device that CUDA shows as ``index``.

        Raises IndexError, ValueError where it cannot be known (a MIG instance, say).
        """
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        name = str(index) if visible is None else visible.split(",")[index].strip()
        count = library.nvmlDeviceGetCount()
        handles = map(library.nvmlDeviceGetHandleByIndex, range(count))
        devices = [cls(library, handle) for handle in handles]
        if name.startswith("GPU-"):  # a UUID, or its beginning
            [named] = [each for each in devices if (each.uuid() or "").startswith(name)]
            return named
        # NVML counts along the PCI bus; CUDA does only when it is told to
        if count > 1 and os.environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
            raise ValueError("CUDA's numbers are not NVML's")
        return devices[int(name)]

    def driver(self) -> str | None:
        return self._text("nvmlSystemGetDriverVersion")

    def uuid(self) -> str | None:
        return self._text("nvmlDeviceGetUUID", self._handle)

    def read(self) -> Reading:
        utilization = self._query("nvmlDeviceGetUtilizationRates", self._handle)
        power_mw = self._query("nvmlDeviceGetPowerUsage", self._handle)
        reasons = self._query("nvmlDeviceGetCurrentClocksThrottleReasons", self._handle) or 0
        processes = self._query("nvmlDeviceGetComputeRunningProcesses", self._handle)
        return Reading(
            utilization_percent=None if utilization is None else float(utilization.gpu),
            power_w=None if power_mw is None else power_mw / 1000,
            clock_mhz=self._query("nvmlDeviceGetClockInfo", self._handle, 1),  # 1: the SM clock
            # 0: the GPU's sensor
            temperature_c=self._query("nvmlDeviceGetTemperature", self._handle, 0),
            throttling=tuple(name for bit, name in _THROTTLING.items() if reasons & bit),
            processes=None if processes is None else len(processes),
        )

    def _query(self, function: str, *arguments: Any) -> Any | None:
        try:
            return getattr(self._library, function)(*arguments)
        # Not supported on this device, driver or library version: the reading is absent
        except Exception:
            return None

    def _text(self, function: str, *arguments: Any) -> str | None:
        answer = self._query(function, *arguments)
        if answer is None:
            return None
        text = answer.decode() if isinstance(answer, bytes) else str(answer)
        return text[:80]
