"""The difference of two sides whose processes ran on several devices of one machine. Pure; in logs.

Devices of one kind differ, and a difference between devices is not one between builds: what both
sides measured on one device says more than what each measured on a device of its own. The model:

    ln(value) = case's level + change on the new side + device's effect + process's effect

For the n processes of one case, y = Xβ + e, where X has the columns 1 and "on the new side", and

    Var(e) = σ² V,   V = I + λ 11ᵀ within the processes of one device, 0 between devices

σ² is the variance between processes on one device, of each case its own. λ, the variance between
devices over σ², is one for all cases together, because one case has few devices: as Smyth, Michaud
and Scott 2005, "Use of within-array replicate spots for assessing differential expression in
microarray experiments", Bioinformatics 21(9). Where all ran on one device, λ cancels out and the
change is the plain difference.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

# On several devices, before they say how much devices differ
MIN_CASES = 4
MAX_DEVICE_SHARE = 0.99


class DeviceGroup(NamedTuple):
    """The processes of one side of a case on one device.

    n: how many. mean: of ln(value). m2: the sum of squared distances from it.
    """

    device: str
    n: int
    mean: float
    m2: float


class SufficientStatistics(NamedTuple):
    """All that the estimates need: sums over processes of z = (1, 1 on the new side, y).

    y is ln(value) minus its mean over the case. A group is all that one case measured on one
    device, on either side.

    products: (cases, 3, 3), the sum of z zᵀ.
    sums: (groups, 3), the sum of z.
    case: (groups,), the index of the group's case.
    """

    products: Floats
    sums: Floats
    case: Indices

    @property
    def n(self) -> Floats:
        """(cases,) Processes of each case."""
        return self.products[:, 0, 0]

    @property
    def group_sizes(self) -> Floats:
        """(groups,) Processes of each group."""
        return self.sums[:, 0]

    def of_cases(self, kept: Bools) -> "SufficientStatistics":
        """Those of some cases alone. kept: (cases,)."""
        new_index = np.cumsum(kept) - 1
        is_kept = kept[self.case]
        return SufficientStatistics(
            self.products[kept], self.sums[is_kept], new_index[self.case[is_kept]]
        )


class Differences(NamedTuple):
    """The generalized least squares of each case; (cases,) each.

    logs: the change, new − base.
    variance_factor: the variance of `logs`, in units of σ².
    squares: the weighted residual sum of squares, n − 2 degrees of freedom times σ².
    log_determinants: ln|V| + ln|XᵀV⁻¹X|, the terms of the restricted likelihood without σ².
    """

    logs: Floats
    variance_factor: Floats
    squares: Floats
    log_determinants: Floats


def sufficient_statistics(
    base: Sequence[Sequence[DeviceGroup]], new: Sequence[Sequence[DeviceGroup]]
) -> SufficientStatistics:
    """The sums over the processes of both sides, whose groups are given case by case."""
    group_index: dict[tuple[int, str], int] = {}  # by (case, device)
    rows = []
    for case_index, sides in enumerate(zip(base, new, strict=True)):
        for is_new_side, groups in enumerate(sides):
            for device, size, group_mean, squares in groups:
                index = group_index.setdefault((case_index, device), len(group_index))
                rows.append((case_index, index, is_new_side, size, group_mean, squares))
    columns = np.array(rows, dtype=float).T  # (6, rows)
    case, group = columns[:2].astype(np.intp)
    is_new, n, mean, m2 = columns[2:]
    case_mean = np.bincount(case, n * mean) / np.bincount(case, n)
    y = mean - case_mean[case]

    # n processes with mean z̄: their sum of z zᵀ is n z̄ z̄ᵀ, and m2 more in the corner of y²
    z = np.array([np.ones_like(n), is_new, y]).T  # (rows, 3)
    within = np.zeros((len(n), 3, 3))
    within[:, 2, 2] = m2
    products = np.zeros((len(base), 3, 3))
    np.add.at(products, case, n[:, None, None] * z[:, :, None] * z[:, None, :] + within)
    sums = np.zeros((len(group_index), 3))
    np.add.at(sums, group, n[:, None] * z)
    case_of_group = np.array([case for case, _ in group_index], dtype=np.intp)
    return SufficientStatistics(products, sums, case_of_group)


def differences(statistics: SufficientStatistics, device_variance: float) -> Differences:
    """The change of each case by generalized least squares, and what its likelihood needs.

    device_variance: λ of the module's docstring.
    """
    sums, case, size = statistics.sums, statistics.case, statistics.group_sizes

    # Sherman and Morrison, within a group: V⁻¹ = I − weight 11ᵀ, weight = λ / (1 + λ size).
    # With the rows z in Z: ZᵀV⁻¹Z = ZᵀZ − Σ over groups of weight × (sum of z)(sum of z)ᵀ.
    weight = device_variance / (1 + device_variance * size)  # (groups,)
    moments = statistics.products.copy()  # (cases, 3, 3), in the order 1, is new, y
    np.subtract.at(moments, case, weight[:, None, None] * sums[:, :, None] * sums[:, None, :])

    # Sweep out the case's level: the Schur complement of the first row and column, (cases, 2, 2)
    ones = moments[:, 0, 0]  # (cases,) 1ᵀV⁻¹1
    swept = moments[:, 1:, 1:] - moments[:, 1:, :1] * moments[:, :1, 1:] / ones[:, None, None]
    xx, xy, yy = swept[:, 0, 0], swept[:, 0, 1], swept[:, 1, 1]

    # What is left is a regression on one column: change = xy / xx, Var(change) = σ² / xx
    squares = np.maximum(yy - xy**2 / xx, 0.0)

    # ln|V| is the sum of ln(1 + λ size) over groups; |XᵀV⁻¹X| is the product of both pivots
    log_v = np.zeros_like(ones)
    np.add.at(log_v, case, np.log1p(device_variance * size))
    return Differences(xy / xx, 1 / xx, squares, log_v + np.log(ones) + np.log(xx))


def device_variance_ratio(statistics: SufficientStatistics) -> float:
    """λ, the variance between devices over that between processes on one device, of all cases
    together; 0 where too few cases ran on several devices.

    The most likely by restricted likelihood (Patterson and Thompson 1971, Biometrika 58(3); with σ²
    profiled out as in Harville 1977, JASA 72(358)):

        −2 ln L(λ) = Σ over cases of ln|V| + ln|XᵀV⁻¹X| + (n − 2) ln(squares)

    Few cases overrate λ by chance as often as they underrate it, and then the intervals are too
    narrow. So `share` = λ / (1 + λ), the devices' part of the whole variance, has the prior
    1 − share: few cases rather underrate it.
    """
    groups_per_case = np.bincount(statistics.case, minlength=len(statistics.n))  # (cases,)
    usable = (groups_per_case > 1) & (statistics.n > 3)  # several devices, and enough processes
    if usable.sum() < MIN_CASES:
        return 0.0
    subset = statistics.of_cases(usable)

    def negative_log_posterior(share: float) -> float:
        estimates = differences(subset, share / (1 - share))
        tiny = np.finfo(float).tiny  # where all values are equal
        log_squares = np.log(np.maximum(estimates.squares, tiny))
        terms = estimates.log_determinants + (subset.n - 2) * log_squares
        return float(terms.sum()) / 2 - float(np.log1p(-share))

    best = minimize_scalar(negative_log_posterior, bounds=(0, MAX_DEVICE_SHARE), method="bounded")
    share = float(best.x)
    if negative_log_posterior(share) < negative_log_posterior(0.0):
        return share / (1 - share)
    return 0.0
