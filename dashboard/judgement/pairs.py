"""Pairs: a process of the base and one of the new build that ran next to each other on one device.

What a device and an hour do to both cancels out of their difference, so that a pair is the unit of
everything else. It is one only where the sides took turns: two sides that ran one after the other
differ by whatever changed in between.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

FEWEST_RUNS = 3
"""Runs of alternating sides, before a block that nobody planned counts as measured in turn."""
ENOUGH_HISTORY = 7
"""Degrees of freedom between processes of one build: those of eight."""


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


def pairs_in_turn(
    processes: Iterable[Process], session: str = "", fewest_runs: int = FEWEST_RUNS
) -> list[Pair]:
    """Pair the processes of one block in the order of their starts; none where the sides did not
    take turns.

    fewest_runs: 2 where both sides were planned in turn, so that one pair is one.
    """
    ordered = sorted(processes)
    runs = 0
    last_side = ""
    for process in ordered:
        runs += process.side != last_side
        last_side = process.side
    if runs < fewest_runs:
        return []
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
    freedom = 0
    widest = 0.0
    for values in builds:
        if len(values) > 1:
            freedom += len(values) - 1
            widest = max(widest, math.log(max(values) / min(values)))
    return widest if freedom >= ENOUGH_HISTORY else math.inf
