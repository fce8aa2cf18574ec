"""Made-up measurements that behave like real ones, to try the site at a large size. Pure.

Noise between processes has heavy tails and remembers the day before, levels step at builds, single
points are outliers, cases fail for a while or once: charts, detection and queries have to cope with
all of it. The amounts follow what was seen on real machines: 0.3-2% between processes, half of it
within one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Floats = NDArray[np.float64]

METRICS = (
    "latency_ms",
    "eager_latency_ms",
    "speedup",
    "throughput_per_s",
    "cold_start_s",
    "peak_memory_gb",
    "eager_peak_memory_gb",
    "compression_ratio",
    "drift",
    "passed",
)
_WITH_INTERVAL = METRICS[:4]  # the other metrics have one value per process
_LASTING_FAILURES = ("fail_to_compile", "fail_accuracy", "oom", "timeout")
_SHARE_OF_CASES_WITH_LASTING_FAILURE = 0.15
_SHARE_OF_SINGLE_FAILURES = 0.004
_SHARE_OF_OUTLIERS = 0.005


@dataclass(frozen=True, slots=True)
class History:
    """One case over n runs.

    status: n words. value, low, high: metric key -> n floats, NaN where there is none.
    """

    status: list[str]
    value: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]


def history(
    rng: np.random.Generator,
    builds: NDArray[np.intp],
    eager_ms: float,
    gain: float,
    memory_gb: float,
) -> History:
    """A case over the runs of ``builds`` (the number of each run's build, never falling).

    eager_ms: the benchmark's eager latency.
    gain: the config's usual speedup; 1 for eager.
    memory_gb: eager's peak.
    """
    runs = len(builds)
    spread = float(rng.uniform(0.003, 0.02))
    eager = latency = eager_ms * _walk(rng, builds, spread, step_rate=0.01)
    if gain != 1:
        latency = eager_ms / gain * _walk(rng, builds, spread, step_rate=0.03)
    eager_memory = memory = memory_gb * _walk(rng, builds, 0.0005, step_rate=0.01)
    if gain != 1:
        memory = eager_memory * rng.uniform(0.6, 1.05)
    value = {
        "latency_ms": latency,
        "eager_latency_ms": eager,
        "speedup": eager / latency,
        "throughput_per_s": 32_000 / latency,
        "cold_start_s": rng.uniform(3, 60) * _walk(rng, builds, 0.03, step_rate=0.02),
        "peak_memory_gb": memory,
        "eager_peak_memory_gb": eager_memory,
        "compression_ratio": eager_memory / memory,
        "drift": 10 ** rng.uniform(-7, -3) * _walk(rng, builds, 0.001, step_rate=0.02),
        "passed": np.ones(runs),
    }
    status = _statuses(rng, runs)
    failed = np.array(status) != "pass"
    for key in METRICS:
        value[key][failed] = 0 if key == "passed" else np.nan
    low = {key: np.full(runs, np.nan) for key in METRICS}
    high = {key: np.full(runs, np.nan) for key in METRICS}
    for key in _WITH_INTERVAL:
        half_width = value[key] * spread * rng.uniform(0.4, 1.2, runs)
        low[key] = value[key] - half_width
        high[key] = value[key] + half_width
    return History(status, value, low, high)


def _walk(
    rng: np.random.Generator, builds: NDArray[np.intp], spread: float, step_rate: float
) -> Floats:
    """A factor around 1 for each run: steps at builds, AR(1) noise of t(3), single outliers."""
    runs, count = len(builds), int(builds[-1]) + 1
    steps = np.where(rng.random(count) < step_rate, rng.normal(0, 0.06, count), 0)
    innovations = rng.standard_t(3, runs) * spread / np.sqrt(3)
    noise = lfilter([1.0], [1.0, -0.3], innovations)
    outliers = np.where(rng.random(runs) < _SHARE_OF_OUTLIERS, rng.uniform(0.05, 0.3, runs), 0)
    factor: Floats = np.exp(np.cumsum(steps)[builds] + noise + outliers)
    return factor


def _statuses(rng: np.random.Generator, runs: int) -> list[str]:
    status = np.full(runs, "pass", dtype=object)
    if rng.random() < _SHARE_OF_CASES_WITH_LASTING_FAILURE:
        first = rng.integers(runs)
        length = 1 + int(runs * rng.uniform(0.02, 0.15))
        status[first : first + length] = rng.choice(_LASTING_FAILURES)
    status[rng.random(runs) < _SHARE_OF_SINGLE_FAILURES] = "crashed"
    return list(status)
