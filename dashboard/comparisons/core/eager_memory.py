"""Whether eager's memory changed by as many bytes as the compiled step's: then the change is not
the compiler's. Pure.
"""

from dashboard.comparisons.core.block_effects import plain_difference
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.matching import Key, Side, pooled
from dashboard.comparisons.core.metric_effects import Effect

EAGER_MEMORY = "eager_peak_memory_gb"
_SAME_SHARE = 0.05  # of the change: eager's that differs by less is the same


def eager_changed_as_much(compiled: Effect, key: Key, base: Side, new: Side) -> bool:
    """By what was measured in turn: elsewhere an older suite may have counted other things."""
    change = _change_in_turn(compiled.base, compiled.new)
    of_eager = _change_in_turn(pooled(base, key, EAGER_MEMORY), pooled(new, key, EAGER_MEMORY))
    if change is None or of_eager is None:
        return False
    return abs(of_eager - change) <= _SAME_SHARE * abs(change)


def _change_in_turn(base: CaseSamples | None, new: CaseSamples | None) -> float | None:
    """In GB; None where no block measured both."""
    if base is None or new is None or base.level is None or new.level is None:
        return None
    return plain_difference(base.level.groups, new.level.groups)
