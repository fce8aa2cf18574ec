"""The variance that many cases with few repeats have in common.

Two or three pairs say little about how much pairs scatter, but many cases are measured at once. So
each case's variance is drawn towards what all of them show (Smyth 2004, "Linear models and
empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3(1), section
6.2): with s² of d degrees of freedom, and a prior s0² worth d0,

    moderated s² = (d0 s0² + d s²) / (d0 + d),  of d0 + d degrees of freedom
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# With repeats, before their variances say something about another case
MIN_CASES = 4
# Many alike cases would make the interval of one that differs too narrow
MAX_PRIOR_FREEDOM = 60.0
# Of the median variance: two equal values are luck, not proof that there is no spread
_MIN_VARIANCE_SHARE = 1e-5


class Prior(NamedTuple):
    """A variance and the degrees of freedom that it is worth; (0, 0) where nothing is known."""

    variance: float
    freedom: float


def variance_prior(variances: Floats, freedom: Floats, most: float = MAX_PRIOR_FREEDOM) -> Prior:
    """Estimate a scaled inverse χ² prior from the moments of ln(variance): Smyth 2004, section 6.2.

    variances, freedom: (cases,), of cases that have repeats. most: degrees of freedom.
    """
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    positive = variances[variances > 0]
    if len(variances) < MIN_CASES or 2 * len(positive) < len(variances):
        return Prior(0.0, 0.0)
    logs = np.log(np.maximum(variances, _MIN_VARIANCE_SHARE * np.median(positive)))
    centred = logs - digamma(freedom / 2) + np.log(freedom / 2)

    # Var(centred) = trigamma(freedom / 2) + trigamma(prior / 2); trigamma falls from ∞ to 0
    excess = float(np.var(centred, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    prior = most
    if excess > 0:
        half = float(brentq(lambda x: polygamma(1, x) - excess, 1e-6, 1e9))
        prior = min(prior, 2 * half)
    return Prior(float(np.exp(centred.mean() + digamma(prior / 2) - np.log(prior / 2))), prior)
