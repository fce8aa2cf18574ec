"""A bank of CUSUM tests, one for each size and sign of a step, on the noise law of the series.

For a step d at point s the log likelihood ratio of points s to t under an autoregressive noise law
f is
    S(s, t) = log f(e_s - d)/f(e_s) + sum over i = s+1 .. t of log f(e_i - (1 - rho) d)/f(e_i),
e being the innovations: the first point jumps by d, later ones only by what their predecessor does
not predict. The CUSUM (Page 1954; Lorden 1971) is its maximum over s, and the bank's its maximum
over a grid of d, which is a generalized likelihood ratio (Willsky and Jones 1976). The law has a
floor (`tables.ANYTHING`), which bounds each term as in Huber (1965), so that one or two outliers
are no level. The level itself is only estimated, from m points: a step seen over N points is worth
m / (m + N) of S, exactly so for a Gaussian. An uncertain rho widens what comes after a large
residual.
"""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.law import RHO_PRIOR, Laws, rho_error
from dashboard.detection.tables import CENTRE, DEGREES, EDGE, GRID, REACH, STEPS, Floats, Ints

SIZES = 7
POWERS: Floats = (np.arange(SIZES) / (SIZES - 1))[:, None]
FEWEST = 3
"""Points of a new level that are needed at least: two outliers in a row are noise."""
FAR = np.arange(2 * SIZES) % SIZES >= SIZES - 2
"""The two largest steps of each sign: no error of the level, however few points it comes from,
brings them about.
"""


@dataclass(frozen=True, slots=True)
class Required:
    """The calibrated evidence that a change needs, in nats (tests/perf/detector.py measures what it
    gives).

    base: for a run of 4 points, with everything known, at the prior's autocorrelation. The rest are
        shares of it:
    per_rho: for each unit of autocorrelation above that. per_tail: by the degrees of freedom,
        inversely. per_known:
    by the points that the law comes from, inversely. per_own: by the level's points, where those
    are fewer than the law's. short: for the shortest run. long: for each e-fold of a run's length
    from 4 to `longest` points, where a wrong autocorrelation adds up. suspected: the share of all
    this from which a change is suspected.
    """

    base: float = 5.65
    per_rho: float = 0.2
    per_tail: float = 0.3
    per_known: float = 14.0
    per_own: float = 30.0
    short: float = 0.15
    long: float = 0.8
    longest: int = 8
    suspected: float = 0.6


REQUIRED = Required()


def sizes(laws: Laws, threshold: float) -> Floats:
    """Steps to test for, (2 * SIZES, rows), in scales: from the threshold (percent) up to REACH,
    both signs.
    """
    smallest = np.clip(threshold / laws.scale, 0.7, REACH / 2)
    up = smallest * (REACH / smallest) ** POWERS
    return np.concatenate([up, -up])


def fresh_parts(values: Floats, before: Floats, widths: Floats, laws: Laws, row: Ints) -> Floats:
    """Innovation of each value (percent) after the one before it, in scales of its law; (n,).

    widths: standard error of each value beyond the usual one, in percent: such a value weighs less.
    """
    level, rho, limit = laws.level[row], laws.rho[row], 3 * laws.marginal[row]
    previous = np.minimum(np.maximum(before - level, -limit), limit)
    doubt = rho_error(laws)[row] * previous
    width = np.sqrt(laws.scale[row] ** 2 + widths * widths + doubt * doubt)
    fresh: Floats = (values - level - rho * previous) / width
    return fresh


def scores(fresh: Floats, laws: Laws, row: Ints, threshold: float) -> tuple[Floats, Floats]:
    """Log likelihood ratios (2 * SIZES, n): of a step that starts at the point, and of one that
    goes on there.
    """
    base = (CENTRE + laws.shape * len(GRID))[row]
    place = np.rint(np.clip(fresh * STEPS, -EDGE, EDGE)).astype(int)
    shifts = sizes(laws, threshold) * STEPS
    table = laws.tables.ravel()
    place += base
    starts = table.take(place - np.rint(shifts).astype(int)[:, row]) - table.take(place)
    if not laws.rho.any():
        return starts, starts
    later = np.rint(shifts * (1 - laws.rho)).astype(int)
    farthest = later[SIZES - 1, row]
    place = np.minimum(np.maximum(place - base, -farthest), farthest) + base
    return starts, table.take(place - later[:, row]) - table.take(place)


def run(starts: Floats, goes_on: Floats) -> tuple[Floats, Floats]:
    """CUSUMs after each of n points, (2 * SIZES, n), from nothing; and what `lengths` needs to
    know.
    """
    path = np.cumsum(goes_on, axis=1)
    gain = starts - path
    path += np.maximum.accumulate(gain, axis=1)
    return path, gain


def lengths(gain: Floats) -> Ints:
    """The number of points in each of the CUSUMs that `run` made."""
    at = np.arange(gain.shape[1])
    first = np.maximum.accumulate(
        np.where(gain >= np.maximum.accumulate(gain, axis=1), at, 0), axis=1
    )
    counts: Ints = at - first + 1
    return counts


def step(sums: Floats, counts: Ints, starts: Floats, goes_on: Floats) -> tuple[Floats, Ints]:
    """Sums and counts of runs (2 * SIZES, n) after one more point in each of n series."""
    longer = sums + goes_on
    again = starts >= longer
    return np.where(again, starts, longer), np.where(again, 1, counts + 1)


def surplus(sums: Floats, counts: Ints, laws: Laws, row: Ints) -> Floats:
    """Evidence as a share of what is required, (2 * SIZES, n): 1 or more is a change. 0 for runs
    under FEWEST.
    """
    own, rho = laws.own[row], laws.rho[row]
    length = np.log(np.clip(counts, 4, REQUIRED.longest) / 4) * REQUIRED.long * (0.5 + rho)
    longer = 1 + length + REQUIRED.short * (counts <= FEWEST)
    shares = sums * (own / (own + counts)) / (longer * required(laws)[row])
    shares[FAR] = sums[FAR] / (longer[FAR] * required(laws, settled=True)[row])
    return np.where(counts >= FEWEST, shares, 0.0)


def required(laws: Laws, settled: bool = False) -> Floats:
    """Evidence that a run of 4 points needs under each law, in nats. settled: as if its level had
    its points, too.
    """
    unsettled = 0.0 if settled else 1 / laws.own - 1 / np.maximum(laws.known, laws.own)
    young = REQUIRED.per_known / laws.known + REQUIRED.per_own * unsettled
    tails = REQUIRED.per_tail / DEGREES[np.minimum(laws.shape, len(DEGREES) - 1)]
    needed: Floats = (
        REQUIRED.base * (1 + REQUIRED.per_rho * (laws.rho - RHO_PRIOR) + tails) * (1 + young)
    )
    return needed
