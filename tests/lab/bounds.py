"""95% bounds of what a simulation counted, and the figures that a detector must keep up with."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest, chi2

RECORDED = Path(__file__).with_name("detector_figures.json")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure with its 95% bounds. more_is_better says in which direction it can get worse."""

    name: str
    value: float
    low: float
    high: float
    more_is_better: bool

    def __str__(self) -> str:
        return f"{self.name:<58}{self.value:8.3g}   [{self.low:.3g}, {self.high:.3g}]"

    def worse_than(self, recorded: float) -> bool:
        """Whether this figure is worse than the recorded one beyond its own bounds."""
        if self.more_is_better:
            return self.high < recorded
        return self.low > recorded


def rate(name: str, events: int, points: int) -> Figure:
    """Events per 1,000 points, with exact Poisson bounds."""
    low = chi2.ppf(0.025, 2 * events) / 2 if events else 0.0
    high = chi2.ppf(0.975, 2 * events + 2) / 2
    scale = 1000 / points
    return Figure(name, scale * events, scale * low, scale * high, more_is_better=False)


def share(name: str, hits: int, tries: int, more_is_better: bool = True) -> Figure:
    """A share in percent, with exact binomial bounds (Clopper and Pearson)."""
    interval = binomtest(hits, tries).proportion_ci(0.95)
    return Figure(name, 100 * hits / tries, 100 * interval.low, 100 * interval.high, more_is_better)


def median(name: str, values: NDArray[np.float64]) -> Figure:
    """A median, with the order statistics that enclose it."""
    ordered, n = np.sort(values), len(values)
    first, last = binom.ppf([0.025, 0.975], n, 0.5).astype(int)
    low, high = float(ordered[first]), float(ordered[min(last, n - 1)])
    return Figure(name, float(np.median(ordered)), low, high, more_is_better=False)


def recorded() -> dict[str, float]:
    """The figures that were recorded with the last accepted detector."""
    figures: dict[str, float] = json.loads(RECORDED.read_text())
    return figures


def record(figures: list[Figure]) -> None:
    """Accept these figures as what later detectors must reach."""
    values = {figure.name: round(figure.value, 4) for figure in figures}
    RECORDED.write_text(json.dumps(values, indent=1) + "\n")


def fallen_behind(figures: list[Figure]) -> list[str]:
    """One line for each figure that is worse than recorded, beyond chance."""
    accepted = recorded()
    lines = []
    for figure in figures:
        least = accepted[figure.name]
        if figure.worse_than(least):
            bounds = f"[{figure.low:.3g}, {figure.high:.3g}]"
            lines.append(f"{figure.name}: {figure.value:.3g} {bounds}, recorded {least:.3g}")
    return lines
