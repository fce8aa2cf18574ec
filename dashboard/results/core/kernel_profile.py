"""The kernels of one step, as the profile of a result document lists them. Pure.

On a GPU these are kernels and copies, on a CPU operators with their self time. Times and calls are
per step.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.language.contracts import Document

ARMS = ("compiled", "eager")
EXPLAINED_METRICS = {  # what runs on the device in a step can be the reason of their changes
    "latency_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "throughput_per_s",
    "speedup",
    "eager_latency_ms",
    "device_ms",
    "eager_device_ms",
    "device_speedup",
    "device_share_percent",
    "kernels",
}
_MOST_CHARACTERS = 80  # of a name that is shown
# A parameter list follows a word or a template; that of "Memcpy DtoD (Device -> Device)" a space
_PARAMETERS = re.compile(r"(?<=[\w>])\(.*", re.DOTALL)
_NAMESPACES = re.compile(r"\b(?:\w+::)+(?=\w)")
_CPP_NOISE = re.compile(r"\(anonymous namespace\)::|^void ")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel; what is not known of it is None, or empty.

    ms: of all its calls. registers, spills: of a thread. shared_bytes: of a block.
    bytes: that one call reads and writes, by the compiler's estimate.
    source: fingerprint of its Triton source. nodes: of the graph, from which it was generated.
    """

    name: str
    kind: str
    calls: float
    ms: float
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    source: str = ""
    nodes: str = ""
    bytes: int | None = None

    @property
    def gb_per_s(self) -> float | None:
        """Rate at which its calls moved their bytes; None without a number of bytes, or a time."""
        if self.bytes is None or not self.ms:
            return None
        return self.bytes * self.calls / self.ms / 1e6

    @property
    def short_name(self) -> str:
        """Without namespaces and parameters, and cut."""
        short = plain_name(self.name)
        return short if len(short) <= _MOST_CHARACTERS else f"{short[: _MOST_CHARACTERS - 1]}…"

    @property
    def is_generated(self) -> bool:
        """True if the compiler wrote it, so that its code may be among the job's artifacts."""
        return self.kind == "triton" or bool(self.source)


@dataclass(frozen=True, slots=True)
class ArmProfile:
    """Profile of what ran on the device in a step of one arm.

    steps: how many were recorded.
    busy_ms: the time in which at least one kernel ran.
    clock_mhz: of the GPU right after the last step; None where it is not known.
    torch: the build's version; empty where it is not known.
    kernels: those that take longest. rest: how many more kinds there are, with rest_calls and
        rest_ms together.
    """

    arm: str
    device: str
    steps: int
    busy_ms: float
    calls: float
    kernels: tuple[Kernel, ...]
    rest: int = 0
    rest_calls: float = 0.0
    rest_ms: float = 0.0
    clock_mhz: float | None = None
    torch: str = ""

    @property
    def total_ms(self) -> float:
        """All durations added up: more than busy_ms where kernels overlap."""
        return sum(kernel.ms for kernel in self.kernels) + self.rest_ms

    @property
    def has_rest(self) -> bool:
        return bool(self.rest or self.rest_ms)

    @property
    def noun(self) -> str:
        return "operator" if self.device == "cpu" else "kernel"

    def share(self, ms: float) -> float:
        """Percent of the time of all kernels."""
        return 100 * ms / self.total_ms if self.total_ms else 0.0


def arm_profiles(document: Document) -> dict[str, ArmProfile]:
    """By arm, the compiled one first; empty for a document without profiles."""
    environment: Mapping[str, Any] = document.get("environment") or {}
    torch = (environment.get("torch") or {}).get("version") or ""
    profiles: Mapping[str, Any] = document.get("profile") or {}
    return {arm: _arm_profile(arm, profiles[arm], torch) for arm in ARMS if arm in profiles}


def _arm_profile(arm: str, profile: Document, torch: str) -> ArmProfile:
    rest = profile["rest"]
    return ArmProfile(
        arm=arm,
        device=profile["device"],
        steps=profile["steps"],
        busy_ms=profile["busy_ms"],
        calls=profile["calls"],
        kernels=tuple(map(_kernel, profile["kernels"])),
        rest=rest["kernels"],
        rest_calls=rest["calls"],
        rest_ms=rest["ms"],
        clock_mhz=profile.get("clock_mhz"),
        torch=torch,
    )


def _kernel(row: Document) -> Kernel:
    return Kernel(
        name=row["name"],
        kind=row["kind"],
        calls=row["calls"],
        ms=row["ms"],
        registers=row.get("registers"),
        spills=row.get("spills"),
        shared_bytes=row.get("shared_bytes"),
        grid=tuple(row.get("grid") or ()),
        block=tuple(row.get("block") or ()),
        source=row.get("source") or "",
        nodes=row.get("nodes") or "",
        bytes=row.get("bytes"),
    )


def plain_name(name: str) -> str:
    """A C++ name without namespaces and parameters; any other as it is.

    A functor among the template's arguments that has parameters of its own ends it.
    """
    is_cpp = name.startswith("void ") or "<" in name or _PARAMETERS.search(name) is not None
    if not is_cpp:
        return name
    without_parameters = _PARAMETERS.sub("", _CPP_NOISE.sub("", name))
    return _NAMESPACES.sub("", without_parameters).strip()
