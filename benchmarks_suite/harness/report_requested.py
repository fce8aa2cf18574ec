"""From what only some jobs do to metrics: a walk through shapes (sweep.py), a soak (soak.py).

Keys are those of dashboard/language/metrics.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.result import Result

if TYPE_CHECKING:
    from benchmarks_suite.harness.soak import Soak


def sweep(result: Result, walk: Document) -> None:
    """Report a sweep; what the first shape compiled is not a recompile, whatever it took."""
    later_shapes = walk["shapes"][1:]
    lost_ms = sum(shape["lost_ms"] for shape in later_shapes)
    result.sections["sweep"] = walk
    result.measured("sweep_recompiles", sum(shape["recompiles"] for shape in later_shapes))
    result.measured("sweep_recompile_s", lost_ms / 1000)
    result.measured("sweep_slow_percent", walk["slow_percent"])


def soak(result: Result, measured: Soak) -> None:
    growth = measured.growth()
    result.sections["soak"] = measured.document()
    result.measured("memory_growth_mb", growth.value, growth.low, growth.high, growth.n)
