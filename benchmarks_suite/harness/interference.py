"""Disturbances of a measurement from outside.

Other load, another process on the GPU, heat, throttled clocks.
"""

import re
import resource
import threading
import time
from pathlib import Path
from statistics import median
from typing import Self

from benchmarks_suite.harness import nvml

PRESSURE_PERCENT = 10.0  # some task waited for a CPU in this share of the time
# A process that has a CPU to itself has a few involuntary context switches per second
SWITCHES_PER_S = 100.0
HOT_C = 85.0
CLOCK_SPREAD_PERCENT = 3.0
_PERIOD_S = 0.2
_PRESSURE = Path("/proc/pressure/cpu")

Mark = tuple[str, str]


class Watch:
    """Used as ``with Watch(device_index) as watch``: around what is measured.

    device_index: None on a CPU.
    """

    def __init__(self, device_index: int | None) -> None:
        self._device = None if device_index is None else nvml.Device.of(device_index)
        self._on_gpu = device_index is not None
        self.readings: list[nvml.Reading] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Self:
        self._start = time.perf_counter(), _stalled_s(), _switches()
        if self._device:
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        if self._device:
            self._thread.join()
        start, stalled_s, switches = self._start
        self.seconds = time.perf_counter() - start
        self._stalled_percent = (_stalled_s() - stalled_s) / self.seconds * 100
        self._switches_per_s = (_switches() - switches) / self.seconds

    def _poll(self) -> None:
        assert self._device is not None
        while not self._done.wait(_PERIOD_S):
            self.readings.append(self._device.read())

    def marks(self) -> list[Mark]:
        """(kind, detail) of everything seen that can falsify a timing."""
        return self._gpu_marks() if self._on_gpu else self._cpu_marks()

    def _cpu_marks(self) -> list[Mark]:
        marks = []
        if self._stalled_percent > PRESSURE_PERCENT:
            percent = f"{self._stalled_percent:.0f}%"
            detail = f"tasks here waited for a CPU in {percent} of the sampling time"
            marks.append(("cpu_pressure", detail))
        if self._switches_per_s > SWITCHES_PER_S:
            detail = f"{self._switches_per_s:.0f} involuntary context switches per second"
            marks.append(("context_switches", detail))
        return marks

    def _gpu_marks(self) -> list[Mark]:
        marks = []
        reasons: set[str] = set()
        for reading in self.readings:
            reasons.update(reading.throttling)
        if reasons:
            marks.append(("gpu_throttled", ", ".join(sorted(reasons))))
        hottest = max(self._values("temperature_c"), default=0.0)
        if hottest > HOT_C:
            marks.append(("gpu_hot", f"{hottest:.0f} °C"))
        processes = max(self._values("processes"), default=0)
        if processes > 1:
            marks.append(("gpu_shared", f"{processes:.0f} processes used the device"))
        clocks = self._values("clock_mhz")
        low, high = min(clocks, default=1.0), max(clocks, default=1.0)
        if (high - low) / high * 100 > CLOCK_SPREAD_PERCENT:
            marks.append(("clock_changed", f"SM clock between {low:.0f} and {high:.0f} MHz"))
        return marks

    def gpu_metrics(self) -> dict[str, float]:
        """Metric key -> value, from the readings; what the device does not report is left out."""
        metrics: dict[str, float] = {}
        clocks, powers = self._values("clock_mhz"), self._values("power_w")
        utilizations = self._values("utilization_percent")
        if clocks:
            metrics["gpu_clock_mhz"] = median(clocks)
        if powers:
            metrics["gpu_power_w"] = sum(powers) / len(powers)
        if utilizations:
            metrics["gpu_utilization_percent"] = median(utilizations)
        return metrics

    def _values(self, field: str) -> list[float]:
        """A field of every reading that has it."""
        values = [getattr(reading, field) for reading in self.readings]
        return [value for value in values if value is not None]


def _stalled_s() -> float:
    """Seconds since boot in which a task waited for a CPU; 0 where the kernel does not count."""
    try:
        total = re.search(r"some .*total=(\d+)", _PRESSURE.read_text())
    except OSError:
        return 0.0
    return int(total[1]) / 1e6 if total else 0.0


def _switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
