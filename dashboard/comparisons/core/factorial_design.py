"""The design of a factorial: its factors, the arms that can be measured, and the effects that these
arms can show. Pure.

An arm is one combination of the factors' levels, a cell of the table that they span. The model has
a term for each factor's level and for each pair of two factors' levels. Where cells are missing,
some effects cannot be told from others: an effect is estimable where its contrast lies in the row
space of the design matrix (Searle 1971, Linear Models, chapter 5), and gets no number otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cell = tuple[int, ...]  # the place of each factor's level

TORCH, CUDA, VARIANT = "torch", "cuda", "variant"  # factors; others are libraries
UNVARIED = "none"  # the level of a build without a variant
MIN_FACTORS, MAX_FACTORS = 2, 3
MAX_LEVELS = 3
MAX_ARMS = 12
_NEARLY_ZERO = 1e-8


class Factor(NamedTuple):
    """What is exchanged. The other levels are compared with the first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """One effect: of a factor's level against its first, or how that depends on another factor's.

    factors: the places of one factor, or of the two of an interaction. levels: of each, the place
        of the level.
    row: (parameters,) its weights in the parameters of `design_row`.
    at: the combinations of the other factors' levels that it is averaged over, where not all of
        them; 0 at the factor's own place.
    """

    factors: tuple[int, ...]
    levels: tuple[int, ...]
    row: Floats
    at: tuple[Cell, ...] = ()

    @property
    def is_interaction(self) -> bool:
        return len(self.factors) > 1


class Estimable(NamedTuple):
    """The effects that a set of arms shows, and those that it cannot tell from others."""

    effects: list[Contrast]
    aliased: list[Contrast]


def all_cells(factors: Sequence[Factor]) -> list[Cell]:
    return list(product(*(range(len(factor.levels)) for factor in factors)))


def design_row(factors: Sequence[Factor], cell: Cell) -> Floats:
    """(parameters,) of a cell: 1, an indicator of each level but the first, and the products of two
    factors' indicators.
    """
    indicators = []
    for factor, level in zip(factors, cell, strict=True):
        indicators.append(np.eye(len(factor.levels))[level, 1:])
    pairs = [np.outer(first, second).ravel() for first, second in combinations(indicators, 2)]
    return np.concatenate([[1.0], *indicators, *pairs])


def estimable_effects(factors: Sequence[Factor], measured: Sequence[Cell]) -> Estimable:
    """Which effects these cells show: every factor's, then every pair's.

    A factor's effect is the mean over all combinations of the others' levels. Where that cannot be
    estimated, it is the mean over those combinations where it can, and says which.
    """
    design = np.array([design_row(factors, cell) for cell in measured])  # (cells, parameters)
    effects: list[Contrast] = []
    aliased: list[Contrast] = []
    for place, factor in enumerate(factors):
        for level in range(1, len(factor.levels)):
            contrast = _factor_contrast(factors, place, level, design)
            (effects if is_estimable(contrast.row, design) else aliased).append(contrast)
    for pair in combinations(range(len(factors)), 2):
        first, second = (len(factors[place].levels) for place in pair)
        for levels in product(range(1, first), range(1, second)):
            contrast = _interaction(factors, pair, levels)
            (effects if is_estimable(contrast.row, design) else aliased).append(contrast)
    return Estimable(effects, aliased)


def is_estimable(row: Floats, design: Floats) -> bool:
    """Whether `row` is a combination of the design's rows: row · X⁺ · X = row."""
    if not len(design):
        return False
    projected = row @ np.linalg.pinv(design) @ design
    return bool(np.abs(projected - row).max() < _NEARLY_ZERO)


def _factor_contrast(factors: Sequence[Factor], place: int, level: int, design: Floats) -> Contrast:
    """The mean over all combinations of the others; else over those where it is estimable."""
    rows = {}
    for cell in all_cells(factors):
        if cell[place] == 0:
            changed = (*cell[:place], level, *cell[place + 1 :])
            rows[cell] = design_row(factors, changed) - design_row(factors, cell)
    whole = Contrast((place,), (level,), np.mean([*rows.values()], axis=0))
    if is_estimable(whole.row, design):
        return whole
    possible = {cell: row for cell, row in rows.items() if is_estimable(row, design)}
    if not possible:
        return whole
    return Contrast((place,), (level,), np.mean([*possible.values()], axis=0), tuple(possible))


def _interaction(
    factors: Sequence[Factor], pair: tuple[int, int], levels: tuple[int, int]
) -> Contrast:
    """The difference of two differences: of the first factor's effect at the second's level, and at
    the second's first level. In this model it is the same at every level of a third factor.
    """
    row = np.zeros_like(design_row(factors, (0,) * len(factors)))
    for first, second in product((0, 1), repeat=2):
        cell = [0] * len(factors)
        cell[pair[0]], cell[pair[1]] = first * levels[0], second * levels[1]
        sign = 1 if first == second else -1
        row += sign * design_row(factors, tuple(cell))
    return Contrast(pair, levels, row)
