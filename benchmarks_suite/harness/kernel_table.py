"""The device's time per step and its kernels, from a profiler's view of some steps. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks_suite.harness.contract import Document

MOST_KERNELS = 200  # the rest of a table is summed up
MOST_CHARACTERS = 300  # of a name: templates of C++ have thousands
# Categories of a trace in which the device itself is at work
_COPIES = ("gpu_memcpy", "gpu_memset")
_ON_DEVICE = ("kernel", *_COPIES)
_KINDS = (  # the first that fits; libraries have no other place where they say what a kernel is
    ("communication", re.compile(r"nccl", re.I)),
    ("attention", re.compile(r"flash|fmha|sdpa|attention", re.I)),
    ("convolution", re.compile(r"conv(?!ert)|fprop|dgrad|wgrad|winograd", re.I)),
    ("matmul", re.compile(r"gemm|gemv|nvjet|cutlass|splitk|matmul", re.I)),
)
# Names that Dynamo and Inductor give to a compiled graph: they differ from process to process
_COMPILED_GRAPH = re.compile(r"^## Call CompiledFxGraph \w+ ##$")


@dataclass
class Kernel:
    """All runs of one kernel (on a CPU: of one operator). us: of all runs.

    of_launch: registers, shared memory, grid and block of its longest run.
    """

    kind: str
    runs: int = 0
    us: float = 0.0
    longest_us: float = -1.0
    of_launch: Document = field(default_factory=dict)

    def add(self, us: float, of_launch: Document) -> None:
        self.runs += 1
        self.us += us
        if us > self.longest_us:
            self.longest_us, self.of_launch = us, of_launch


def of_trace(
    events: Iterable[Document], steps: int, generated: Mapping[str, Document]
) -> Document | None:
    """The ``profile`` of an arm from a trace of ``steps`` steps on a GPU; None without a kernel.

    events: of the Chrome trace format; ts and dur are microseconds.
    generated: name of a Triton kernel -> source, nodes and spills, as far as they are known.
    """
    kernels: dict[str, Kernel] = {}
    intervals = []
    for event in events:
        category = event.get("cat")
        if category not in _ON_DEVICE:
            continue
        start_us, us = float(event["ts"]), float(event["dur"])
        intervals.append((start_us, start_us + us))
        name = event["name"][:MOST_CHARACTERS]
        kind = kind_of(name, category, is_generated=name in generated)
        kernels.setdefault(name, Kernel(kind)).add(us, _launch(event.get("args", {})))
    if not any(kernel.kind != "copy" for kernel in kernels.values()):
        return None
    first, last = min(start for start, _ in intervals), max(end for _, end in intervals)
    return {
        "device": "cuda",
        "steps": steps,
        "busy_ms": _ms(_union_us(intervals), steps),
        "span_ms": _ms(last - first, steps),
        **_table(kernels, steps, generated),
    }


def of_operators(operators: Iterable[tuple[str, int, float]], steps: int) -> Document:
    """The same of a CPU: (operator, calls, microseconds in it and not in those that it calls)."""
    kernels: dict[str, Kernel] = {}
    for name, calls, us in operators:
        short = "compiled graph" if _COMPILED_GRAPH.match(name) else name[:MOST_CHARACTERS]
        kernel = kernels.setdefault(short, Kernel("operator"))
        kernel.runs += calls
        kernel.us += us
    table = _table(kernels, steps, {})
    return {
        "device": "cpu",
        "steps": steps,
        "busy_ms": table["sum_ms"],
        "span_ms": table["sum_ms"],
        **table,
    }


def kind_of(name: str, category: str, *, is_generated: bool) -> str:
    """Whose a kernel is, as far as its name tells."""
    if category in _COPIES:
        return "copy"
    if is_generated or name.startswith("triton_"):
        return "triton"
    for kind, pattern in _KINDS:
        if pattern.search(name):
            return kind
    return "other"


def _union_us(intervals: Sequence[tuple[float, float]]) -> float:
    """Measure the time that at least one of the intervals covers."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _launch(arguments: Document) -> Document:
    return {
        "registers": arguments.get("registers per thread"),
        "shared_bytes": arguments.get("shared memory"),
        "grid": arguments.get("grid"),
        "block": arguments.get("block"),
    }


def _table(
    kernels: Mapping[str, Kernel], steps: int, generated: Mapping[str, Document]
) -> Document:
    by_time = sorted(kernels.items(), key=lambda named: -named[1].us)
    rest = [kernel for _, kernel in by_time[MOST_KERNELS:]]
    rows = []
    for name, kernel in by_time[:MOST_KERNELS]:
        rows.append(
            {
                "name": name,
                "kind": kernel.kind,
                "calls": kernel.runs / steps,
                "ms": _ms(kernel.us, steps),
                **kernel.of_launch,
                **generated.get(name, {}),
            }
        )
    return {
        "sum_ms": _ms(sum(kernel.us for kernel in kernels.values()), steps),
        "calls": sum(kernel.runs for kernel in kernels.values()) / steps,
        "kernels": rows,
        "rest": {
            "kernels": len(rest),
            "calls": sum(kernel.runs for kernel in rest) / steps,
            "ms": _ms(sum(kernel.us for kernel in rest), steps),
        },
    }


def _ms(us: float, steps: int) -> float:
    return round(us / steps / 1000, 6)
