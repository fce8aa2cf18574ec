"""Fewer points that draw the same picture. Pure."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def downsample(value: Floats, low: Floats, high: Floats, most: int) -> NDArray[np.intp]:
    """Indices of at most about ``most`` points that draw the same picture as all of them.

    Points are cut into equal buckets. Of each bucket are kept: its first point, the lowest and the
    highest value, and the lowest and the highest end of an interval, so that no spike disappears at
    any zoom of the page; and its first NaN, so that a gap remains a gap. With ``most`` points or
    fewer, every index is returned.
    """
    size = len(value)
    if size <= most:
        return np.arange(size)
    width = math.ceil(size / max(most // 6, 1))
    starts = np.arange(0, size, width)
    gaps = np.flatnonzero(np.isnan(value))
    _, first_gaps = np.unique(gaps // width, return_index=True)
    keep = [
        starts,
        np.array([size - 1]),
        gaps[first_gaps],
        starts + np.argmin(_buckets(value, width, np.inf), axis=1),
        starts + np.argmax(_buckets(value, width, -np.inf), axis=1),
        starts + np.argmin(_buckets(low, width, np.inf), axis=1),
        starts + np.argmax(_buckets(high, width, -np.inf), axis=1),
    ]
    indices = np.unique(np.concatenate(keep))
    return indices[indices < size]


def _buckets(array: Floats, width: int, fill: float) -> Floats:
    """The array as (buckets, width); NaN and the rest of the last bucket are ``fill``."""
    missing = -len(array) % width
    filled = np.where(np.isnan(array), fill, array)
    return np.concatenate([filled, np.full(missing, fill)]).reshape(-1, width)
