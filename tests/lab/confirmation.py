"""How a confirmation bears a process that is far off: candidate rules, simulated side by side.

    python -m tests.lab.confirmation [--tries 4000] [--only TEXT]

A pair's difference is that of two processes' logarithms. Nothing changed, or a change of 2, 3 or
5%; 1 or 2% of normal noise between processes; at most MEASURED pairs; and one of

    clean         nothing else
    cold first    the new build's first process is 30% off
    both cold     the first process of each build is, by 30% and 25%
    one wild      one pair, anywhere, is 30% off

Printed for each rule: percent confirmed, not reproduced and inconclusive, and the pairs measured.
`without the first` is the site's (dashboard/alerts/core/confirmation.py). The second table compares
what may end a test early, for changes that were estimated too large; `waits` is the site's.
tests/dashboard/alerts/test_confirmation_pairs.py holds both to what the site decides.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dashboard.alerts.core.confirmation import ALPHA, FEWEST, LEAST, MOST, SPREAD, WARM_UPS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MEASURED = MOST + WARM_UPS
THRESHOLD = 2.0  # percent, of latency
COLD, LESS_COLD = 30.0, 25.0
DISTURBANCES = ("clean", "cold first", "both cold", "one wild")
SITUATIONS = ((0.0, 3.0), (0.0, 6.0), (2.0, 2.0), (3.0, 3.0), (5.0, 5.0))  # effect, suspected
TOO_LARGE = ((0.0, 6.0), (1.0, 6.0), (2.0, 6.0), (3.0, 6.0))

Ends = Literal["exclusion first", "smaller", "waits"]
"""What ends a test: what was reported is excluded, although the interval lies above 0; not where it
does; nor as long as the estimate says that a smaller change is there.
"""


class Interval(NamedTuple):
    """Of the mean difference of each try. Each has the shape (tries,)."""

    low: Floats
    high: Floats


Rule = Callable[[Floats], Interval]


def interval(differences: Floats, alpha: float = ALPHA) -> Interval:
    """The always-valid interval of each row. differences: (tries, pairs)."""
    tries, count = differences.shape
    freedom, grown = count - 1, 1 + count * SPREAD
    ratio = np.inf
    if freedom > 0:
        ratio = (np.sqrt(grown) / alpha) ** (2 / count)
    if ratio >= grown:
        return Interval(np.full(tries, -np.inf), np.full(tries, np.inf))
    t_squared = freedom * (ratio - 1) / (1 - ratio / grown)
    middle = differences.mean(axis=1)
    reach = np.sqrt(t_squared / count) * differences.std(axis=1, ddof=1)
    return Interval(middle - reach, middle + reach)


def without_first(differences: Floats) -> Interval:
    return interval(differences[:, WARM_UPS:])


def all_or_without_first(differences: Floats) -> Interval:
    """Half of the error for either."""
    return narrowest([interval(differences, ALPHA / 2), interval(differences[:, 1:], ALPHA / 2)])


def all_or_less_one(differences: Floats) -> Interval:
    """Half of the error for all pairs; half is shared by those without one pair."""
    candidates = [interval(differences, ALPHA / 2)]
    for left_out in range(differences.shape[1]):
        rest = np.delete(differences, left_out, axis=1)
        candidates.append(interval(rest, ALPHA / 2 / MEASURED))
    return narrowest(candidates)


def narrowest(candidates: Sequence[Interval]) -> Interval:
    """Of each try, the candidate with the smallest width."""
    low = np.stack([candidate.low for candidate in candidates])
    high = np.stack([candidate.high for candidate in candidates])
    chosen = (high - low).argmin(axis=0)
    tries = np.arange(low.shape[1])
    return Interval(low[chosen, tries], high[chosen, tries])


RULES: Mapping[str, Rule] = {
    "all pairs": interval,
    "without the first": without_first,
    "all, or without the first": all_or_without_first,
    "all, or less one": all_or_less_one,
}


@dataclass(frozen=True)
class Outcomes:
    """Of each try. pairs: measured, warm-up included."""

    confirmed: Bools
    not_reproduced: Bools
    pairs: NDArray[np.int64]

    def __str__(self) -> str:
        ended = self.confirmed | self.not_reproduced
        shares = [100 * part.mean() for part in (self.confirmed, self.not_reproduced, ~ended)]
        percents = " ".join(f"{share:5.1f}" for share in shares)
        return f"{percents}   {self.pairs.mean():4.1f} pairs"


def draw(tries: int, effect: float, noise: float, disturbance: str, seed: int = 23) -> Floats:
    """Differences of logarithms in percent, (tries, MEASURED)."""
    generator = np.random.default_rng(seed)
    differences: Floats = effect + noise * np.sqrt(2) * generator.normal(size=(tries, MEASURED))
    if disturbance == "cold first":
        differences[:, 0] += COLD
    elif disturbance == "both cold":
        differences[:, 0] += COLD - LESS_COLD
    elif disturbance == "one wild":
        place = generator.integers(MEASURED, size=tries)
        differences[np.arange(tries), place] += COLD * generator.choice([-1, 1], tries)
    return differences


def run(rule: Rule, differences: Floats, suspected: float, ends: Ends = "waits") -> Outcomes:
    """How the sequential tests end; `suspected` is positive."""
    tries = len(differences)
    confirmed, refused = np.zeros(tries, dtype=bool), np.zeros(tries, dtype=bool)
    pairs = np.full(tries, MEASURED)
    for count in range(FEWEST, MEASURED + 1):
        seen = rule(differences[:, :count])
        running = ~(confirmed | refused)
        is_excluded = seen.high < LEAST * max(THRESHOLD, suspected)
        is_there = (seen.low > 0) & (seen.high >= LEAST * THRESHOLD)
        if ends == "exclusion first":
            is_there &= ~is_excluded
        elif ends == "waits" and count < MEASURED:
            is_bounded = np.isfinite(seen.high)
            middle = np.where(is_bounded, (np.nan_to_num(seen.low) + seen.high) / 2, 0.0)
            is_excluded &= np.minimum(middle, seen.high) < LEAST * THRESHOLD
        confirmed |= running & is_there
        refused |= running & is_excluded & ~is_there
        pairs[running & (confirmed | refused)] = count
    return Outcomes(confirmed, refused, pairs)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=4000)
    parser.add_argument("--only", default="", help="disturbances whose name contains this text")
    options = parser.parse_args()
    disturbances = [name for name in DISTURBANCES if options.only in name]
    print(f"{'confirmed, not reproduced, inconclusive %':>72}")
    for noise in (1.0, 2.0):
        for effect, suspected in SITUATIONS:
            for disturbance in disturbances:
                differences = draw(options.tries, effect, noise, disturbance)
                print(
                    f"{effect:.0f}% reported as {suspected:.0f}%, noise {noise:.0f}%, {disturbance}"
                )
                for name, rule in RULES.items():
                    print(f"    {name:30} {run(rule, differences, suspected)}")
    print("\nReported too large: what may end a test")
    for noise in (1.0, 2.0):
        for effect, suspected in TOO_LARGE:
            differences = draw(options.tries, effect, noise, "cold first")
            print(f"{effect:.0f}% reported as {suspected:.0f}%, noise {noise:.0f}%")
            for ends in ("exclusion first", "smaller", "waits"):
                outcomes = run(without_first, differences, suspected, ends)
                print(f"    {ends:30} {outcomes}")


if __name__ == "__main__":
    main()
