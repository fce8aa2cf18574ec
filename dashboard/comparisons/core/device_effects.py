"""The difference of two sides whose processes ran on several devices of one machine. Pure; in logs.

Devices of one kind differ, and a difference between devices is none between builds: what both sides
measured on one device tells more than what each measured somewhere. ln(value) is the case's level,
plus the change on the new side, plus what its device differs by, plus what its process differs by.
How much devices differ, compared with processes, is taken from all cases together, because one case
has few devices (Smyth, Michaud and Scott 2005, "Use of within-array replicate spots for assessing
differential expression in microarray experiments", Bioinformatics 21(9)); the rest is generalized
least squares, n − 2 degrees of freedom. Where all ran on one device it is the plain difference.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

LEAST_CASES = 4  # on several devices, before they say how much devices differ
MOST_SHARED = 0.99


class DeviceGroup(NamedTuple):
    """The processes of one side of a case on one device: how many, mean and squared distances from
    it of ln(value).
    """

    device: str
    n: int
    mean: float
    m2: float


class SufficientStatistics(NamedTuple):
    """Sums over processes of z = (1, 1 on the new side, ln(value) from the case's mean).

    products: (cases, 3, 3) of z zᵀ. sums: (blocks, 3) of z, a block being what both sides of a case
        measured on one
    device. case: (blocks,) whose block it is.
    """

    products: Floats
    sums: Floats
    case: Places

    @property
    def n(self) -> Floats:
        """Processes of each case."""
        return self.products[:, 0, 0]


class Differences(NamedTuple):
    """(cases,) each. logs: new − base. share: its variance, as a multiple of that of one process on
    a given device.
    squares: the residuals', n − 2 degrees of freedom times that variance. volume: the logarithm of
        what the likelihood
    is divided by, twice."""

    logs: Floats
    share: Floats
    squares: Floats
    volume: Floats


def summed(
    base: Sequence[Sequence[DeviceGroup]], new: Sequence[Sequence[DeviceGroup]]
) -> SufficientStatistics:
    """Of each case the blocks of both sides."""
    numbers: dict[tuple[int, str], int] = {}  # of (case, device)
    rows = [
        (
            case,
            numbers.setdefault((case, part.device), len(numbers)),
            is_new,
            part.n,
            part.mean,
            part.m2,
        )
        for case, sides in enumerate(zip(base, new, strict=True))
        for is_new, side in enumerate(sides)
        for part in side
    ]
    columns = np.array(rows, dtype=float).T
    case, block = columns[:2].astype(np.intp)
    is_new, n, mean, m2 = columns[2:]
    centred = mean - (np.bincount(case, n * mean) / np.bincount(case, n))[case]
    z = np.array([np.ones_like(n), is_new, centred]).T
    within = np.zeros((len(n), 3, 3))
    within[:, 2, 2] = m2
    products, sums = np.zeros((len(base), 3, 3)), np.zeros((len(numbers), 3))
    np.add.at(products, case, n[:, None, None] * z[:, :, None] * z[:, None, :] + within)
    np.add.at(sums, block, n[:, None] * z)
    return SufficientStatistics(
        products, sums, np.array([case for case, _ in numbers], dtype=np.intp)
    )


def differences(of: SufficientStatistics, devices: float) -> Differences:
    """By generalized least squares. devices: the variance between devices over that between
    processes on one device.
    """
    # (I + devices 11ᵀ)⁻¹ = I − held 11ᵀ in each block
    held = devices / (1 + devices * of.sums[:, 0])
    moments = of.products.copy()
    np.subtract.at(
        moments, of.case, held[:, None, None] * of.sums[:, :, None] * of.sums[:, None, :]
    )
    level = moments[:, 0, 0]
    swept = moments[:, 1:, 1:] - moments[:, 1:, :1] * moments[:, :1, 1:] / level[:, None, None]
    side, both, value = swept[:, 0, 0], swept[:, 0, 1], swept[:, 1, 1]
    spread = np.zeros_like(level)
    np.add.at(spread, of.case, np.log1p(devices * of.sums[:, 0]))
    squares = np.maximum(value - both**2 / side, 0.0)
    return Differences(both / side, 1 / side, squares, spread + np.log(level) + np.log(side))


def between_devices(of: SufficientStatistics) -> float:
    """The variance between devices over that between processes on one device, all cases together:
    the most likely one (restricted likelihood, each case with a variance of its own). 0 where too
    few cases ran on several devices.

    Few cases overrate it by chance as often as they underrate it, and then the intervals are too
    narrow. So `shared`, the devices' part of the whole variance, has the prior 1 − shared: few
    cases rather underrate it.
    """
    telling = (np.bincount(of.case, minlength=len(of.n)) > 1) & (of.n > 3)
    if telling.sum() < LEAST_CASES:
        return 0.0
    kept = telling[of.case]
    chosen = SufficientStatistics(
        of.products[telling], of.sums[kept], (np.cumsum(telling) - 1)[of.case[kept]]
    )

    def unlikely(shared: float) -> float:
        found = differences(chosen, shared / (1 - shared))
        tiny = np.finfo(float).tiny  # equal values
        terms = found.volume + (chosen.n - 2) * np.log(np.maximum(found.squares, tiny))
        return float(terms.sum()) / 2 - float(np.log1p(-shared))

    shared = float(minimize_scalar(unlikely, bounds=(0, MOST_SHARED), method="bounded").x)
    return shared / (1 - shared) if unlikely(shared) < unlikely(0.0) else 0.0
