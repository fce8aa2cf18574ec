"""From the profiled pass to metrics: the device's own time, its kernels, the host's launching.

Keys are those of dashboard/language/metrics.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks_suite.harness import statistics
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.result import Result

if TYPE_CHECKING:
    from benchmarks_suite.harness.compiled_calls import StepCalls
    from benchmarks_suite.harness.timing import Samples

OF_THE_CASE = ("device_ms", "kernels", "device_share_percent", "device_speedup")
OF_THE_CONTROL = ("eager_device_ms", "device_speedup")
ON_A_GPU = ("kernels", "host_ms", "device_share_percent")
MOST_NAMES = 50  # of operators outside of graphs


def cpu_time(result: Result, samples: dict[str, Samples]) -> None:
    """On a CPU: the process's CPU time in place of the device's."""
    own = samples.get("compiled") or samples["eager"]
    device = statistics.median_interval(own.cpu_ms)
    result.measured("device_ms", device.value, device.low, device.high, device.n)
    if len(samples) == 2:
        eager = statistics.median_interval(samples["eager"].cpu_ms)
        result.measured("eager_device_ms", eager.value, eager.low, eager.high, eager.n)
        _speedup(result)
    for key in ON_A_GPU:
        result.missing(key, "a CPU is host and device in one: nothing is launched")


def host_time(result: Result, times_ms: Sequence[float]) -> None:
    """times_ms: until the call of a step returned; empty where no step was to be timed alone."""
    if not times_ms:
        result.missing("host_ms", "needs steps timed one by one (single_steps 0)")
        return
    host = statistics.median_interval(times_ms)
    result.measured("host_ms", host.value, host.low, host.high, host.n)


def profile(result: Result, arm: str, profile: Document) -> None:
    """The section of one arm."""
    result.sections.setdefault("profile", {})[arm] = profile


def no_profile(result: Result, arm: str, reason: str, *, is_control: bool) -> None:
    """Report why an arm has no profile. is_control: it is not what the case is about."""
    for key in OF_THE_CONTROL if is_control else OF_THE_CASE:
        result.missing(key, f"the {arm} arm has no profile: {reason}")


def device_time(result: Result, measured: str) -> None:
    """On a GPU: the metrics of the profiles that there are. measured: the arm that the case is
    about.
    """
    profiles = result.sections.get("profile", {})
    own, eager = profiles.get(measured), profiles.get("eager")
    if own:
        result.measured("device_ms", own["busy_ms"])
        result.measured("kernels", own["calls"])
        latency_ms = result.metrics["latency_ms"]["value"]
        result.measured("device_share_percent", own["busy_ms"] / latency_ms * 100)
    if eager and measured != "eager":
        result.measured("eager_device_ms", eager["busy_ms"])
        _speedup(result)


def _speedup(result: Result) -> None:
    own, eager = result.metrics.get("device_ms"), result.metrics.get("eager_device_ms")
    if own and eager and own["value"] > 0:
        result.measured("device_speedup", eager["value"] / own["value"])


def calls(result: Result, calls: Sequence[StepCalls]) -> None:
    """Report what the calls of compiled code cost, from each of some steps."""
    overhead = statistics.median_interval([each.overhead_us for each in calls])
    result.measured("overhead_us", overhead.value, overhead.low, overhead.high, overhead.n)
    ordered = sorted(calls, key=lambda each: each.overhead_us)
    median = ordered[len(ordered) // 2]
    result.sections.setdefault("calls", {}).update(
        steps=len(calls),
        graphs=median.graphs,
        lookups=median.lookups,
        lookup_us=round(median.lookup_us, 3),
    )


def operators(result: Result, eager: Counter[str], outside: Counter[str]) -> None:
    """The share of a forward pass that ran compiled.

    eager: operators by name of one of the eager arm; outside: of the compiled one, those outside of
    its graphs.
    """
    if not eager:
        result.missing("compiled_ops_percent", "the eager forward pass runs no operator")
        return
    # What a break adds, such as reading a value, can be more than eager runs
    share = max(0.0, 1 - outside.total() / eager.total())
    result.measured("compiled_ops_percent", share * 100)
    result.sections.setdefault("calls", {}).update(
        eager_operators=eager.total(),
        operators_outside=outside.total(),
        outside=dict(outside.most_common(MOST_NAMES)),
    )
