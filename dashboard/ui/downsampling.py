"""Fewer points that draw the same picture. Pure."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def downsample(value: Floats, low: Floats, high: Floats, most: int) -> NDArray[np.intp]:
    """Indices of at most about ``most`` points that draw the same picture as all of them.

    Points are cut into equal buckets; of each bucket stay its first point, the lowest and highest
    value, and the lowest and highest end of an interval. So no spike disappears, at any zoom of the
    page. A bucket's first NaN stays
    too: a gap remains a gap. With ``most`` points or fewer, every index is returned.
    """
    size = len(value)
    if size <= most:
        return np.arange(size)
    width = -(-size // max(most // 6, 1))
    padded = -(-size // width) * width
    keep = [np.arange(0, size, width), np.array([size - 1])]
    for array, worst, pick in (
        (value, np.inf, np.argmin),
        (value, -np.inf, np.argmax),
        (low, np.inf, np.argmin),
        (high, -np.inf, np.argmax),
    ):
        filled = np.where(np.isnan(array), worst, array)
        buckets = np.concatenate([filled, np.full(padded - size, worst)]).reshape(-1, width)
        keep.append(pick(buckets, axis=1) + np.arange(0, padded, width))
    gaps = np.flatnonzero(np.isnan(value))
    keep.append(gaps[np.unique(gaps // width, return_index=True)[1]])
    indices = np.unique(np.concatenate(keep))
    return indices[indices < size]
