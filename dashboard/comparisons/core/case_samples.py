"""Measurements of one side in one metric of one case. Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dashboard.comparisons.core.levels import Block, Level, merge_levels
from dashboard.comparisons.core.libraries import Libraries
from dashboard.judgement.pairs import Pair, Process, in_turn, pairs_of_block


class ProcessValue(NamedTuple):
    """Value that one process measured in a session.

    start: in seconds, by which a block is ordered. is_planned: the session was planned to measure
        in turn; of results that were imported their starts have to show it.
    """

    block: Block
    start: float
    value: float
    is_planned: bool = False


class CaseSamples(NamedTuple):
    """One metric under one benchmark version and library set: n values, one from each process.

    level: None where a value is not positive, which logs cannot take.
    least, most, mean: of the plain values.
    job: the newest one.
    processes: those of sessions, in any order; empty where nobody asked for pairs.
    """

    version: int
    libraries: Libraries
    level: Level | None
    n: int
    least: float
    most: float
    mean: float
    job: str = ""
    processes: tuple[ProcessValue, ...] = ()

    @property
    def value(self) -> float:
        return self.level.value if self.level else self.mean


def pool_samples(samples: Sequence[CaseSamples]) -> CaseSamples:
    """All samples of one benchmark version as one."""
    if len(samples) == 1:
        return samples[0]
    n = sum(each.n for each in samples)
    level = None
    levels = [each.level for each in samples if each.level]
    if len(levels) == len(samples):
        level = merge_levels(levels)
    return CaseSamples(
        version=samples[0].version,
        libraries=samples[0].libraries,
        level=level,
        n=n,
        least=min(each.least for each in samples),
        most=max(each.most for each in samples),
        mean=math.fsum(each.mean * each.n for each in samples) / n,
        job=samples[-1].job,
        processes=tuple(process for each in samples for process in each.processes),
    )


def pairs_of(base: CaseSamples, new: CaseSamples) -> list[Pair]:
    """Pairs of processes that ran next to each other, in the order of measuring."""
    blocks: dict[Block, list[Process]] = {}
    for process in base.processes:
        block = blocks.setdefault(process.block, [])
        block.append(Process(process.start, "base", process.value))
    for process in new.processes:
        block = blocks.setdefault(process.block, [])
        block.append(Process(process.start, "new", process.value))
    every = (*base.processes, *new.processes)
    planned = {process.block for process in every if process.is_planned}
    pairs = []
    for place in in_turn(blocks) | planned & blocks.keys():
        pairs += pairs_of_block(blocks[place], place.session)
    return sorted(pairs, key=lambda pair: pair.start)
