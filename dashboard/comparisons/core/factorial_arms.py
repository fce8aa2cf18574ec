"""What an arm of a factorial needs, and why one may be impossible. Pure."""

from collections.abc import Mapping, Sequence

from packaging.version import InvalidVersion, Version

from dashboard.catalog.core.pins import PINS
from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.core.factorial import ArmProcess, analyse
from dashboard.comparisons.core.factorial_design import (
    CUDA,
    MAX_ARMS,
    MAX_FACTORS,
    MAX_LEVELS,
    MIN_FACTORS,
    TORCH,
    VARIANT,
    Cell,
    Factor,
    all_cells,
)
from dashboard.language.metrics import METRICS

LIBRARIES = tuple(dict.fromkeys(pin.library for pin in PINS))
NAMES = (TORCH, CUDA, *LIBRARIES, VARIANT)  # of factors, in the order in which pages have them


def factors_of(levels: Mapping[str, Sequence[str]]) -> tuple[list[Factor], dict[str, str]]:
    """(what is exchanged, what is the same in every arm), from the levels of each name.

    Raises PlanError: an unknown name, too few or too many factors, levels or arms.
    """
    factors, fixed = [], {}
    for name in sorted(levels, key=lambda name: (*NAMES, name).index(name)):
        own = tuple(dict.fromkeys(level.strip() for level in levels[name]))
        if name not in NAMES:
            raise PlanError(f"Unknown factor {name!r}: one of {', '.join(NAMES)}.")
        if len(own) > MAX_LEVELS:
            raise PlanError(f"{name} has {len(own)} levels: choose {MAX_LEVELS} at most.")
        if len(own) == 1:
            fixed[name] = own[0]
        elif own:
            factors.append(Factor(name, own))
    _require_size(factors)
    if not levels.get(TORCH):
        raise PlanError("Name the torch versions; one is enough where torch is not exchanged.")
    return factors, fixed


def _require_size(factors: Sequence[Factor]) -> None:
    if len(factors) < MIN_FACTORS:
        names = ", ".join(f"{factor.name} alone" for factor in factors)
        raise PlanError(
            f"{names or 'No factor'} has two levels or more, and a factorial exchanges two or "
            "three factors. For torch alone compare two builds."
        )
    if len(factors) > MAX_FACTORS:
        names = ", ".join(factor.name for factor in factors)
        raise PlanError(f"{len(factors)} factors ({names}): exchange {MAX_FACTORS} at most.")
    arms = len(all_cells(factors))
    if arms > MAX_ARMS:
        raise PlanError(f"{arms} combinations: choose levels that make {MAX_ARMS} at most.")


def levels_at(factors: Sequence[Factor], cell: Cell, fixed: Mapping[str, str]) -> dict[str, str]:
    """The level of each name in one cell."""
    levels = dict(fixed)
    for factor, level in zip(factors, cell, strict=True):
        levels[factor.name] = factor.levels[level]
    return levels


def library_levels(levels: Mapping[str, str]) -> dict[str, str]:
    """Those of libraries: name -> version."""
    return {name: level for name, level in levels.items() if name in LIBRARIES}


def refused_library(torch: str, libraries: Mapping[str, str]) -> str:
    """Which library does not go with this torch, by the table of pins; empty where none is known
    not to.
    """
    try:
        version = Version(torch)
    except InvalidVersion:
        return ""
    for pin in PINS:
        if libraries.get(pin.library) == pin.version and not pin.takes(version):
            return f"{pin.library} {pin.version} needs torch {pin.torch}"
    return ""


def fewest_processes(factors: Sequence[Factor], cells: Sequence[Cell], repeats: int) -> int:
    """How many processes the side of an effect has that has fewest, if all of them pass.

    0 where these arms show no effect.
    """
    planned = []
    for repeat in range(repeats):
        planned += [ArmProcess(cell, repeat, 0.0) for cell in cells]
    if not planned:
        return 0
    effects = analyse(factors, planned, METRICS["latency_ms"]).effects
    return min((effect.processes for effect in effects), default=0)
