"""The sum of absolute distances from the median of stretches of a series: the cost of a level."""

from heapq import heappush, heappushpop

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def costs_of_beginnings(values: Floats) -> Floats:
    """Cost of values[:n] as one level, for n from 1 to all. (n,) -> (n,)

    With the values halved into a lower and an upper heap it is the sum of the upper half minus
    that of the lower half; of an odd number the median itself, which is in the lower one, counts
    nothing.
    """
    lower: list[float] = []  # negated: the largest is first
    upper: list[float] = []
    lower_sum = upper_sum = 0.0
    costs = np.empty(len(values))
    for place, value in enumerate(values.tolist()):
        if len(lower) == len(upper):
            moved = heappushpop(upper, value)
            heappush(lower, -moved)
            upper_sum += value - moved
            lower_sum += moved
        else:
            moved = -heappushpop(lower, -value)
            heappush(upper, moved)
            lower_sum += value - moved
            upper_sum += moved
        middle = -lower[0] if len(lower) > len(upper) else 0.0
        costs[place] = upper_sum - lower_sum + middle
    return np.maximum(costs, 0.0)


def costs_of_stretches(values: Floats) -> Floats:
    """Cost of values[first:end] at [first, end], for every first < end; elsewhere 0. Quadratic."""
    count = len(values)
    costs = np.zeros((count, count + 1))
    for first in range(count):
        costs[first, first + 1 :] = costs_of_beginnings(values[first:])
    return costs
