"""Looks: when an experiment is judged, and bounds that hold however often one has looked.

Whoever measures on until an answer comes and then stops would find one in noise. So the looks are
planned, and each has its part of the error (Bonferroni; group-sequential designs, Jennison and
Turnbull 2000, chapter 2, narrow this by a few percent and need the looks to be kept to): every p
counts as many times as there are looks, every interval has 1 − ERROR / looks, and the best of the
looks so far stands. More pairs therefore never make an answer less certain.
"""

from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.judgement.moderation import MAX_PRIOR_FREEDOM, Floats, Prior, variance_prior

LOOKS = (3, 6, 12, 20)
"""Pairs at which a case is judged; those beyond the last look passed wait for the next."""
PLANNED = 10 / 3
"""Looks that the four count for, as they share their first pairs: all together miss in 4.6% (known
variance) to 5.0% (a case's own), by simulation of 400,000 tests."""
ERROR = 0.05
FALSE_DISCOVERY_RATE = 0.05
"""Share of the reported changes of an experiment that may be none."""
PRIOR_SHARE = 0.25
"""Most that a prior is worth of the degrees of freedom it is estimated from: that of five
cases is a guess itself."""
TRIMMED = 20
"""Pairs of which the lowest and the highest are left out: one process that was far off."""
CERTAIN_PAIRS = 6
"""Before a change is certain, and before the case's own variance counts where it is larger."""


class Look(NamedTuple):
    """A case at one look. mean: of its values. reach: half of the interval's width.

    p: two-sided, of no change, times the number of looks.
    """

    pairs: int
    mean: float
    reach: float
    p: float


def reach_of(freedom: Floats, looks: float = PLANNED) -> Floats:
    """Half of an interval's width in standard errors, by Student's t."""
    quantiles: Floats = scipy.stats.t.isf(ERROR / looks / 2, freedom)
    return quantiles


def prior_of(values: Floats, pairs: int) -> Prior:
    """The variance that alike cases have in common, as far as this look sees them.

    values: (cases, pairs), NaN where a case has fewer.
    """
    seen = values[:, :pairs]
    counts = np.isfinite(seen).sum(axis=1)
    has_repeats = counts >= LOOKS[0]
    if not has_repeats.any():
        return variance_prior(np.empty(0), np.empty(0))
    variances = np.zeros(len(counts))
    freedom = np.zeros(len(counts))
    for count in set(counts[has_repeats].tolist()):
        alike = counts == count
        _, variances[alike], freedom[alike] = trimmed(seen[alike, :count])
    most = min(MAX_PRIOR_FREEDOM, PRIOR_SHARE * float(freedom.sum()))
    return variance_prior(variances[has_repeats], freedom[has_repeats], most)


def trimmed(values: Floats) -> tuple[Floats, Floats, float]:
    """Return means without a twentieth of the pairs at each end, with their variance (of one pair)
    and degrees of freedom: Yuen 1974.

    Processes of one build differ as often one way as the other, so that cutting off both ends has
    no bias. values: (cases, pairs).
    """
    pairs = values.shape[1]
    cut = pairs // TRIMMED
    left = pairs - 2 * cut
    ordered = np.sort(values, axis=1)
    means = ordered[:, cut : pairs - cut].mean(axis=1)
    winsorized = np.clip(ordered, ordered[:, cut, None], ordered[:, pairs - cut - 1, None])
    # Var(mean) = SSW / (h (h − 1)), h values left; of one pair n times that
    squares = winsorized.var(axis=1) * pairs
    return means, squares * pairs / (left * (left - 1)), left - 1.0


def looks_at(
    values: Floats, looks: tuple[int, ...] = LOOKS, *, are_alike: bool = True
) -> list[list[Look]]:
    """The looks that each case has reached.

    values: (cases, pairs), NaN where a case has fewer.
    """
    counts = np.isfinite(values).sum(axis=1)  # (cases,)
    by_case: list[list[Look]] = [[] for _ in counts]
    for pairs in looks:
        [reached] = np.nonzero(counts >= pairs)
        if not len(reached):
            break
        prior = prior_of(values, pairs) if are_alike else Prior(0.0, 0.0)
        seen = values[reached, :pairs]  # (reached, pairs)
        means, own, own_freedom = trimmed(seen)
        freedom = prior.freedom + own_freedom
        variances = (prior.freedom * prior.variance + own_freedom * own) / freedom
        if pairs >= CERTAIN_PAIRS:
            variances = np.maximum(variances, own)

        errors = np.sqrt(variances / pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(means == 0, 0.0, np.abs(means) / errors)
        p = np.minimum(1, PLANNED * 2 * scipy.stats.t.sf(scores, freedom))
        reach = reach_of(np.array(freedom)) * errors
        columns = (means.tolist(), reach.tolist(), p.tolist())
        for case, row in zip(reached.tolist(), zip(*columns, strict=True), strict=True):
            by_case[case].append(Look(pairs, *row))
    return by_case


def interval_of(looks: list[Look]) -> tuple[float, float, float]:
    """(effect, low, high): what all looks allow, and of that the nearest to the newest mean. Where
    they exclude each other, the newest alone.
    """
    newest = looks[-1]
    low = max(look.mean - look.reach for look in looks)
    high = min(look.mean + look.reach for look in looks)
    if low > high:
        return newest.mean, newest.mean - newest.reach, newest.mean + newest.reach
    return min(max(newest.mean, low), high), low, high


def discovery_limit(p: list[float]) -> float:
    """The p up to which these are discoveries (Benjamini and Hochberg 1995): it only grows when
    another one falls.

    p: of all that was to be measured; 1 where no look was reached.
    """
    limits = FALSE_DISCOVERY_RATE * np.arange(1, len(p) + 1) / max(1, len(p))
    discoveries = limits[np.sort(p) <= limits]
    return float(discoveries[-1]) if len(discoveries) else 0.0
