"""Pairs: a process of the base and one of the new build that ran next to each other on one device.

What a device and an hour do to both cancels out of their difference, so that a pair is the unit of
everything else. It is one only where the sides took turns: two sides that ran one after the other
differ by whatever changed in between.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

Place = TypeVar("Place", bound=Hashable)

FEWEST_RUNS = 3
"""Runs of alternating sides, before a block that nobody planned counts as measured in turn."""
NEXT_TO_S = 3600.0
"""Between the starts of two processes that ran next to each other without a plan."""
ENOUGH_HISTORY = 6
"""Processes of builds that have several, before they say how far apart such may be: as few false
pages as by eight (python -m tests.lab.verdicts --cell large).
"""


class Pair(NamedTuple):
    """base, new: what the two processes measured. session: in which the pair ran.

    start: of the later process; pairs are ordered by it, over all devices.
    """

    base: float
    new: float
    session: str = ""
    start: float = 0.0


class Process(NamedTuple):
    """One process in a block (a device in a session). start: by which they are ordered."""

    start: float
    side: Literal["base", "new"]
    value: float


def in_turn(blocks: Mapping[Place, Sequence[Process]]) -> set[Place]:
    """Find the blocks in which the sides took turns.

    One process a side within the hour is a turn too where other blocks hold more of them: the sides
    alternate over these. A single such block says only what ran first.
    """
    alternating = {place for place, block in blocks.items() if runs_of(block) >= FEWEST_RUNS}
    lone = set()
    for place, block in blocks.items():
        starts = [process.start for process in block]
        is_both = sorted(process.side for process in block) == ["base", "new"]
        if is_both and max(starts) - min(starts) <= NEXT_TO_S:
            lone.add(place)
    return alternating | lone if len(alternating | lone) > 1 else alternating


def runs_of(block: Iterable[Process]) -> int:
    """Count the runs of processes of one side, in the order of their starts."""
    return sum(1 for _ in groupby(sorted(block), key=lambda process: process.side))


def pairs_of_block(block: Iterable[Process], session: str = "") -> list[Pair]:
    """Pair the processes of a block in which the sides took turns, in the order of their starts."""
    ordered = sorted(block)
    bases = [process for process in ordered if process.side == "base"]
    news = [process for process in ordered if process.side == "new"]
    pairs = []
    for base, new in zip(bases, news, strict=False):
        pairs.append(Pair(base.value, new.value, session, max(base.start, new.start)))
    return pairs


def widest_difference(builds: Iterable[Sequence[float]]) -> float:
    """By how much processes of one build ever differed, in logs; infinite where too few say it.

    builds: the values of the processes of each, of one case on one machine.
    """
    processes = 0
    widest = 0.0
    for values in builds:
        if len(values) > 1:
            processes += len(values)
            widest = max(widest, math.log(max(values) / min(values)))
    return widest if processes >= ENOUGH_HISTORY else math.inf
