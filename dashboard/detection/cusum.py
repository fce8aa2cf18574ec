"""CUSUM tests, one for each size and sign of a step, on the noise model of the series.

For a step d at point s the log likelihood ratio of points s to t under an autoregressive noise with
density f is
    S(s, t) = log f(e_s - d)/f(e_s) + sum over i = s+1 .. t of log f(e_i - (1 - rho) d)/f(e_i),
e being the innovations: the first point jumps by d, later ones only by what their predecessor does
not predict. The CUSUM (Page 1954; Lorden 1971) is its maximum over s, and the evidence its maximum
over a grid of d, which is a generalized likelihood ratio (Willsky and Jones 1976). The density has
a floor (`tables.CONTAMINATION`), which bounds each term as in Huber (1965), so that one or two
outliers are no level.
"""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.estimators import RHO_PRIOR
from dashboard.detection.habits import FEWEST_POINTS
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.tables import CENTRE, EDGE, REACH, STEPS_PER_SCALE, Floats, Ints, clipped

SIZES = 7
"""Sizes of step from the threshold up to REACH. More of them cost time; a step between two of them
loses little, as the likelihood is flat around its maximum.
"""
TESTS = 2 * SIZES
"""Each size upwards, then each downwards."""
EXPONENTS: Floats = np.arange(SIZES) / (SIZES - 1)  # 0 to 1
SMALLEST_STEP = 0.7
"""Scales. Of a smaller step d, one point says less than 1/4 nat (d²/2 for a Gaussian)."""
FAR = (np.arange(TESTS) % SIZES >= SIZES - 2)[:, None]  # (TESTS, 1)
"""The two largest steps of each sign: no error of the level, however few points it comes from,
looks like them.
"""
HIGH_RHO = 0.6
NO_RUN = -1e9
"""A sum that no run goes on from (and that JSON can carry, unlike minus infinity)."""


@dataclass(frozen=True, slots=True)
class RequiredEvidence:
    """The calibrated evidence that a change needs, in nats (tests/lab/detector.py measures the
    false alerts that it leaves).

    base: for a run of 4 points, with everything known, at the prior's autocorrelation. The others
        are shares of it.
    per_rho: for each unit of autocorrelation above the prior's.
    per_high_rho: for each unit above HIGH_RHO, where the series wanders and a short history shows
        less of it than there is.
    per_tail: by the degrees of freedom, inversely.
    per_point: by the points that the model comes from, inversely.
    per_level_point: by the points of the level, inversely, where those are fewer than the model's.
    short: for the shortest run.
    long: for each e-fold of a run's length from `shortest` to `longest` points, where a wrong
        autocorrelation adds up.
    """

    base: float = 5.7
    per_rho: float = 0.2
    per_high_rho: float = 1.6
    per_tail: float = 0.3
    per_point: float = 14.0
    per_level_point: float = 30.0
    short: float = 0.15
    long: float = 0.8
    shortest: int = 4
    longest: int = 8


REQUIRED = RequiredEvidence()

_LENGTHS = np.arange(REQUIRED.longest + 1)  # of runs; longer ones need no more than the last
_E_FOLDS = np.log(np.clip(_LENGTHS, REQUIRED.shortest, REQUIRED.longest) / REQUIRED.shortest)
_LONG: Floats = np.asarray(_E_FOLDS * REQUIRED.long, dtype=float)
_SHORT: Floats = np.asarray(REQUIRED.short * (_LENGTHS <= FEWEST_POINTS), dtype=float)


@dataclass(frozen=True, slots=True)
class Runs:
    """The best run of points for each test, of n series that share a model.

    sums: its log likelihood ratio, (TESTS, n). lengths: its points, (TESTS, n).
    """

    sums: Floats
    lengths: Ints

    def extended(self, starts: Floats, goes_on: Floats) -> "Runs":
        """The runs after one more point: S = max(S + goes_on, starts), Page's recursion."""
        # A run that begins with this point replaces one that is worth no more
        longer = self.sums + goes_on
        is_longer = starts < longer
        return Runs(np.maximum(starts, longer), self.lengths * is_longer + 1)

    def after_each(self, starts: Floats, goes_on: Floats) -> "Runs":
        """The runs of one series after each of some points, (TESTS, points): as `extended` has it,
        but for sums alone, from which the lengths follow.
        """
        before = np.empty((starts.shape[1] + 1, TESTS))
        before[0] = self.sums[:, 0]
        steps = zip(before[:-1], before[1:], starts.T, goes_on.T, strict=True)
        for last, sums, start, step in steps:
            np.add(last, step, out=sums)
            np.maximum(sums, start, out=sums)
        is_longer = starts < before[:-1].T + goes_on
        places = np.arange(starts.shape[1])
        first = np.maximum.accumulate(np.where(is_longer, -self.lengths, places), axis=1)
        return Runs(before[1:].T, places - first + 1)

    def at(self, point: int) -> "Runs":
        """The runs after one of the points, (TESTS, 1)."""
        return Runs(self.sums[:, point : point + 1], self.lengths[:, point : point + 1])


NO_RUNS = Runs(np.full((TESTS, 1), NO_RUN), np.zeros((TESTS, 1), dtype=int))
"""No evidence of any step, of one series."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The strongest run of one series. share: of the required evidence; 1 or more is a change.
    nats: its log likelihood ratio.
    """

    share: float = 0.0
    length: int = 0
    nats: float = 0.0


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, slots=True)
class CusumTests:
    """The tests of one noise model, with everything that is the same for each point.

    log_density: of the innovations, `NoiseModel.table`, (225,).
    rho_error: of the model.
    first, later: how far each step moves the innovation of its first point and of later ones, in
        grid steps, (TESTS, 1).
    required, required_far: evidence by the length of a run, (longest + 1,); for the largest steps,
        where it does not matter how well the level is known.
    fewest: points of a new level that are needed at least.
    wider_ratios: `NoiseModel.wider_ratios`.
    """

    model: NoiseModel
    rho_error: float
    log_density: Floats
    first: Ints
    later: Ints
    required: Floats
    required_far: Floats
    fewest: int
    wider_ratios: Floats

    @classmethod
    def of(cls, model: NoiseModel, threshold: float, fewest: int = FEWEST_POINTS) -> "CusumTests":
        """The tests for steps from the threshold (percent) up."""
        # From the smallest change that matters (the threshold) to the largest that the grid holds
        smallest = min(max(threshold / model.scale, SMALLEST_STEP), REACH / 2)
        upwards = smallest * (REACH / smallest) ** EXPONENTS  # a geometric grid, in scales
        steps = np.concatenate([upwards, -upwards])[:, None] * STEPS_PER_SCALE
        # An error of rho adds up over the points of a run, the more the larger rho is
        by_length = 1 + _LONG * (0.5 + model.rho) + _SHORT
        return cls(
            model=model,
            rho_error=model.rho_error,
            log_density=model.table,
            first=np.rint(steps).astype(int),
            later=np.rint(steps * (1 - model.rho)).astype(int),
            required=by_length * _required(model, level_is_known=False),
            required_far=by_length * _required(model, level_is_known=True),
            fewest=fewest,
            wider_ratios=model.wider_ratios,
        )

    def innovations(
        self,
        values: Floats | float,
        before: Floats | float,
        errors: Floats | float = 0.0,
        model: NoiseModel | None = None,
    ) -> Floats:
        """Innovation of each value (percent) after the one before it, (n,), in scales.

        errors: standard error of each value beyond the usual one, in percent: such a value weighs
            less. model: one with another level.
        """
        model = model or self.model
        # An outlier has no echo: the predecessor counts for 3 deviations at most
        previous = clipped(before - model.level, 3 * model.deviation)
        # What an uncertain rho adds after a large residual: the error of rho times the residual
        doubt = self.rho_error * previous
        width = np.sqrt(model.scale * model.scale + errors * errors + doubt * doubt)
        innovations: Floats = (values - model.level - model.rho * previous) / width
        return innovations

    def log_ratios(self, innovations: Floats) -> tuple[Floats, Floats]:
        """Log likelihood ratios, (TESTS, n) each: of a step that starts at the point, and of one
        that goes on there.
        """
        # On the grid of `tables`, no further than REACH
        at = np.minimum(np.maximum(innovations * STEPS_PER_SCALE, -EDGE), EDGE)
        place = np.rint(at).astype(int)
        starts = self._ratio(place, self.first)
        if not self.model.rho:
            return starts, starts
        # Later points move by less: beyond the largest such move, a point says no more
        farthest = self.later[SIZES - 1]
        place = np.minimum(np.maximum(place, -farthest), farthest)
        return starts, self._ratio(place, self.later)

    def _ratio(self, place: Ints, shift: Ints) -> Floats:
        """log f(e - shift)/f(e) of each test, (TESTS, n). place: of e on the grid, (n,), 0 being
        the centre.
        """
        index = place + CENTRE
        ratio: Floats = self.log_density.take(index - shift) - self.log_density.take(index)
        return ratio

    def shares(self, runs: Runs) -> Floats:
        """Evidence as a share of what is required, (TESTS, n). 0 for runs that are too short.

        The level is only estimated, from m points: a run of N points is worth m / (m + N) of its
        sum, exactly so for a Gaussian.
        """
        m = self.model.level_points
        # No error of the level looks like the largest steps: theirs count in full
        by_length = np.minimum(runs.lengths, REQUIRED.longest)
        worth = runs.sums * (m / (m + runs.lengths))
        shares = np.where(
            FAR,
            runs.sums / self.required_far.take(by_length),
            worth / self.required.take(by_length),
        )
        return np.where(runs.lengths >= self.fewest, shares, 0.0)

    def evidence(self, runs: Runs, newest: Floats) -> list[Evidence]:
        """The strongest run after each point. newest: what the point adds, (TESTS, points)."""
        shares = self.shares(runs)
        if self.fewest > FEWEST_POINTS:
            # A burst that is over has as much evidence, for a while, as a level that lasts
            shares = np.where(newest > 0, shares, 0.0)
        best = (shares.argmax(axis=0), np.arange(shares.shape[1]))
        strongest = (shares[best], runs.lengths[best], runs.sums[best])
        return list(map(Evidence, *(column.tolist() for column in strongest)))


def _required(model: NoiseModel, level_is_known: bool) -> float:
    """Evidence that a run of 4 points needs, in nats.

    base × (1 + autocorrelation + tails) × (1 + youth), all as `RequiredEvidence` has them.
    """
    # Youth: what is estimated from n points has a variance of the order of 1/n; a level may come
    # from fewer points than its noise, which it may have inherited
    unsettled = 0.0
    if not level_is_known:
        unsettled = 1 / model.level_points - 1 / max(model.points, model.level_points)
    young = REQUIRED.per_point / (model.points + model.borrowed)
    young += REQUIRED.per_level_point * unsettled
    tails = REQUIRED.per_tail / model.degrees
    autocorrelation = REQUIRED.per_rho * (model.rho - RHO_PRIOR)
    autocorrelation += REQUIRED.per_high_rho * max(0.0, model.rho - HIGH_RHO)
    return REQUIRED.base * (1 + autocorrelation + tails) * (1 + young) * model.bar
