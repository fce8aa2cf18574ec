"""What disturbed a measurement from outside: other load, another process on the GPU, heat,
throttled clocks.
"""

import re
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from benchmarks_suite.harness import nvml, statistics

PRESSURE_PERCENT = 10.0  # some task waited for a CPU in this share of the time
# Involuntary context switches of a process that has a CPU to itself: a few per second
SWITCHES_PER_S = 100.0
HOT_C = 85.0
CLOCK_SPREAD_PERCENT = 3.0
_PERIOD_S = 0.2
_PRESSURE = Path("/proc/pressure/cpu")

Mark = tuple[str, str]


class Watch:
    """Used as ``with Watch(device_index) as watch``: around what is measured. device_index: None on
    a CPU.
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
            marks.append(
                (
                    "cpu_pressure",
                    (
                        f"tasks here waited for a CPU in {self._stalled_percent:.0f} % of the "
                        "sampling time"
                    ),
                )
            )
        if self._switches_per_s > SWITCHES_PER_S:
            marks.append(
                (
                    "context_switches",
                    f"{self._switches_per_s:.0f} involuntary context switches per second",
                )
            )
        return marks

    def _gpu_marks(self) -> list[Mark]:
        marks = []
        reasons = sorted({reason for reading in self.readings for reason in reading.throttling})
        if reasons:
            marks.append(("gpu_throttled", ", ".join(reasons)))
        hottest = max(self._values(lambda reading: reading.temperature_c), default=0.0)
        if hottest > HOT_C:
            marks.append(("gpu_hot", f"{hottest:.0f} °C"))
        processes = max(self._values(lambda reading: reading.processes), default=0)
        if processes > 1:
            marks.append(("gpu_shared", f"{processes:.0f} processes used the device"))
        clocks = self._values(lambda reading: reading.clock_mhz)
        if clocks and (max(clocks) - min(clocks)) / max(clocks) * 100 > CLOCK_SPREAD_PERCENT:
            marks.append(
                ("clock_changed", f"SM clock between {min(clocks):.0f} and {max(clocks):.0f} MHz")
            )
        return marks

    def gpu_metrics(self) -> dict[str, float]:
        """Metric key -> value, from the readings; what the device does not tell is left out."""
        clock = self._values(lambda reading: reading.clock_mhz)
        power = self._values(lambda reading: reading.power_w)
        busy = self._values(lambda reading: reading.utilization_percent)
        found: dict[str, Any] = {
            "gpu_clock_mhz": statistics.median(clock) if clock else None,
            "gpu_power_w": sum(power) / len(power) if power else None,
            "gpu_utilization_percent": statistics.median(busy) if busy else None,
        }
        return {key: value for key, value in found.items() if value is not None}

    def _values(self, field: Callable[[nvml.Reading], float | None]) -> list[float]:
        return [value for reading in self.readings if (value := field(reading)) is not None]


def _stalled_s() -> float:
    """Seconds since boot in which some task waited for a CPU; 0 where the kernel does not count
    them.
    """
    try:
        found = re.search(r"some .*total=(\d+)", _PRESSURE.read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1e6 if found else 0.0


def _switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
