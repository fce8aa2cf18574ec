"""The walk through shapes: what a change of shape costs.

For configs that name shapes (``sweep`` in configs.py). The cold start does it in place of its later
steps (start.py): each shape gets STEPS steps before the next one comes. So what the compiler does
about a shape falls on that shape's steps, and nothing else does: the process is fresh, its caches
were empty.

The very first step is the cold start's, and counts neither as slow nor as time lost.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks_suite.harness import shapes, torch_versions
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.memory import host_gb
from benchmarks_suite.harness.timing import Stopwatch
from benchmarks_suite.harness.working_copies import WorkingCopy

STEPS = 10
SLOW_FACTOR = 3.0
MOST_REASONS = 5


@dataclass(frozen=True)
class CompilerState:
    """Work of the compiler in this process so far. reasons: one for each recompile."""

    graphs: int
    compile_s: float
    reasons: list[str]

    @classmethod
    def now(cls) -> "CompilerState":
        again = torch_versions.recompiles() or []
        return cls(
            graphs=int(torch_versions.counters().get("stats.unique_graphs", 0)),
            compile_s=torch_versions.phases_s()["total"],
            reasons=[recompile["reason"] for recompile in again],
        )


@dataclass(frozen=True)
class Visit:
    """The steps at one shape, and what the compiler did meanwhile.

    is_first: its first step is the cold start.
    host_mb: by how much the process grew; None where that is not known.
    """

    label: str
    is_first: bool
    steps_ms: list[float]
    before: CompilerState
    after: CompilerState
    host_mb: float | None

    @property
    def later_ms(self) -> float:
        """The median of the steps after the first."""
        return median(self.steps_ms[1:])

    @property
    def slow(self) -> list[bool]:
        """One flag for each step: it took more than SLOW_FACTOR times as long as the later ones."""
        limit_ms = SLOW_FACTOR * self.later_ms
        slow = [ms > limit_ms for ms in self.steps_ms]
        if self.is_first:
            slow[0] = False
        return slow

    @property
    def reasons(self) -> list[str]:
        return self.after.reasons[len(self.before.reasons) :]

    @property
    def graphs(self) -> int:
        return self.after.graphs - self.before.graphs

    @property
    def lost_ms(self) -> float:
        """Time that its slow steps took beyond the later ones', where something was compiled."""
        if self.is_first or not (self.graphs or self.reasons):
            return 0.0
        steps = zip(self.steps_ms, self.slow, strict=True)
        return sum(ms - self.later_ms for ms, is_slow in steps if is_slow)

    def document(self) -> Document:
        return {
            "label": self.label,
            "first_ms": round(self.steps_ms[0], 4),
            "later_ms": round(self.later_ms, 4),
            "slow_steps": sum(self.slow),
            "lost_ms": round(self.lost_ms, 4),
            "recompiles": len(self.reasons),
            "graphs": self.graphs,
            "compile_ms": round((self.after.compile_s - self.before.compile_s) * 1000, 1),
            "host_mb": self.host_mb,
            "reasons": self.reasons[:MOST_REASONS],
        }


def walk(
    working_copy: WorkingCopy, arm: Arm, sweep: Sequence[shapes.Shares], first_ms: float
) -> Document:
    """Walks through the shapes, after the first step at the first of them, which took ``first_ms``.

    Returns the start's ``sweep``, ``steps_ms`` and ``steady_after_s``.
    """
    batch, axes = working_copy.batches[0], working_copy.workload.axes
    stopwatch = Stopwatch(working_copy.device, shapes.walk(batch, axes, sweep))
    visits: list[Visit] = []
    before, size_gb = CompilerState(0, 0.0, []), host_gb()
    for index, shape in enumerate(shapes.walk_sizes(batch, axes, sweep)):
        steps_ms = [first_ms] if index == 0 else []
        while len(steps_ms) < STEPS:
            ms, _ = stopwatch.time(arm, 1, first=index)
            steps_ms.append(ms)
        gc.collect()  # what the compiler leaves in cycles is not growth
        after, new_size_gb = CompilerState.now(), host_gb()
        grown_mb = round((new_size_gb - size_gb) * 1000, 2) if index else None
        label = shapes.label(shape)
        visits.append(Visit(label, index == 0, steps_ms, before, after, grown_mb))
        before, size_gb = after, new_size_gb
    return _findings(visits)


def _findings(visits: Sequence[Visit]) -> Document:
    steps_ms = [ms for visit in visits for ms in visit.steps_ms]
    slow = [is_slow for visit in visits for is_slow in visit.slow]
    slow_places = [place for place, is_slow in enumerate(slow) if is_slow]
    steady_from = slow_places[-1] + 1 if slow_places else 1
    return {
        "sweep": {
            "steps": STEPS,
            "slow_factor": SLOW_FACTOR,
            "slow_percent": round(100 * sum(slow) / (len(slow) - 1), 4),
            "shapes": [visit.document() for visit in visits],
        },
        "steps_ms": [round(ms, 4) for ms in steps_ms],
        "steady_after_s": sum(steps_ms[:steady_from]) / 1000,
    }
