"""Warmth of a cell of a matrix, from −4 (worse) to 4 (better). Pure."""

from collections.abc import Sequence
from functools import cache

from dashboard.language.metrics import Metric
from dashboard.language.wording import is_count

# A speedup beyond the n-th is n steps warm; its reciprocal n steps cold
_SPEEDUP_STEPS = (1.02, 1.10, 1.25, 1.50)
# Times the metric's threshold; of what is counted, plain differences
_CHANGE_STEPS = (1, 2.5, 5, 10)


def speedup_heat(speedup: float | None) -> int:
    """Rate how far a speedup is from 1, in steps symmetric by ratio; 0 where there is none."""
    if not speedup or speedup <= 0:
        return 0
    if speedup >= 1:
        return _steps_reached(speedup, _SPEEDUP_STEPS)
    return -_steps_reached(1 / speedup, _SPEEDUP_STEPS)


def change_heat(metric: Metric, old: float, new: float) -> int:
    """Rate how far ``new`` is from ``old`` in steps of the metric; negative where it is worse."""
    if is_count(metric) or old <= 0 or new <= 0:
        steps = _steps_reached(abs(new - old), _CHANGE_STEPS)
    else:
        percent = 100 * (max(new / old, old / new) - 1)
        steps = _steps_reached(percent, change_steps(metric))
    is_better = (new < old) == metric.lower_is_better
    return steps if is_better else -steps


@cache
def change_steps(metric: Metric) -> tuple[float, ...]:
    """The changes in percent at which a cell becomes warmer or colder."""
    return tuple(step * (metric.threshold_percent or 1) for step in _CHANGE_STEPS)


def _steps_reached(size: float, steps: Sequence[float]) -> int:
    return sum(size >= step for step in steps)
