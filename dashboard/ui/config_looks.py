"""Looks of a config in every chart: its colour, its dash and its marker. Pure."""

from collections.abc import Iterable

SLOTS = 8  # colours in the stylesheet: --series-0 … --series-7
# Eager, the first config, is the dashed line that others are compared with
DASHES = ("dash", "solid", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "pentagon")


def slots(positions: Iterable[int]) -> dict[int, int]:
    """The colours of the configs at these places of the registry, in one figure.

    A config has its own colour; one whose colour an earlier one has takes a free one, or its own
    where none is free.
    """
    in_order = sorted(set(positions))
    colours: dict[int, int] = {}
    for position in in_order:
        if position % SLOTS not in colours.values():
            colours[position] = position % SLOTS
    # Eager's grey is the last to be taken
    free = [slot for slot in (*range(1, SLOTS), 0) if slot not in colours.values()]
    for position in in_order:
        if position not in colours:
            colours[position] = free.pop(0) if free else position % SLOTS
    return colours


def dash(position: int) -> str:
    """The dash of the config at ``position``; configs with similar colours differ in it."""
    return DASHES[position % len(DASHES)]


def symbol(position: int) -> str:
    """The marker of the config at ``position``: another one for each round of the colours."""
    return SYMBOLS[position // SLOTS % len(SYMBOLS)]
