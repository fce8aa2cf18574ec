"""Comparison of eager's change in memory with the compiled step's: if both are the same number of
bytes, the change is not the compiler's. Pure.
"""

import math

from dashboard.comparisons.core.case_samples import CaseSamples, pairs_of
from dashboard.comparisons.core.matching import Side, pooled
from dashboard.comparisons.core.tables import ComparisonRow

EAGER_MEMORY = "eager_peak_memory_gb"
_SAME_SHARE = 0.05  # of the change: eager's that differs by less is the same


def eager_changed_as_much(row: ComparisonRow, base: Side, new: Side) -> bool:
    """By what was measured in turn: elsewhere an older suite may have counted other things."""
    key = row.case.key
    change = _change_in_turn(row.base, row.new)
    of_eager = _change_in_turn(pooled(base, key, EAGER_MEMORY), pooled(new, key, EAGER_MEMORY))
    if change is None or of_eager is None:
        return False
    return abs(of_eager - change) <= _SAME_SHARE * abs(change)


def _change_in_turn(base: CaseSamples | None, new: CaseSamples | None) -> float | None:
    """In GB; None without pairs."""
    if base is None or new is None:
        return None
    pairs = pairs_of(base, new)
    if not pairs:
        return None
    return math.fsum(pair.new - pair.base for pair in pairs) / len(pairs)
