"""The difference of two sides whose processes ran in several blocks. Pure; in logs.

A block is a device in a session: what was measured there in turn. Devices of one kind differ, and
so does one device from one day to the next; neither is a difference between builds. So each side is
compared within blocks alone:

    ln(value) = case's level + block's effect + change on the new side + process's effect

with the blocks' effects as unknown constants (Cochran and Cox 1957, Experimental Designs, chapter
9). What a block does to all of its processes cancels out, however large it is, and whether it is
the same for all cases or not; a block with one side alone says how much processes differ, and
nothing of the change. To estimate a variance between blocks, and so to use those as well, was tried
and left: with the few devices and days that there are its error was as large as itself, and a fifth
of the pages had a false change (docs/architecture.md).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.language.metrics import COMPILE_CALLS

_GPU = "GPU-"  # so a GPU's UUID begins; of a machine without one the device is its host


class Block(NamedTuple):
    """Where and when processes were measured in turn.

    session: empty for what was not measured in turn with anything (a scheduled run): two sides
        never share such a block.
    """

    device: str
    session: str


def block_of(metric: str, device: str, session: str, machine: str) -> Block:
    """Where and when a value of `metric` was measured.

    machine: what all devices of one kind have in common. The calls of a compilation depend neither
        on the day nor on which GPU of a kind it is (docs/measuring.md): those of all are one block.
    """
    if metric == COMPILE_CALLS and device.startswith(_GPU):
        return Block(machine, "any")
    return Block(device, session)


class BlockGroup(NamedTuple):
    """The processes of one side of a case in one block.

    n: how many. mean: of ln(value). m2: the sum of squared distances from it.
    """

    block: Block
    n: int
    mean: float
    m2: float


class Difference(NamedTuple):
    """The change of one case, new − base, within blocks.

    variance_factor: its variance, in units of σ², the variance between processes of one block.
    squares: the residual sum of squares, `freedom` degrees of freedom times σ².
    processes: of the side that has fewer, in blocks that both share.
    least, most: the changes of the blocks in which it is so.
    between: the part of `squares` by which these differ. blocks: how many there are.
    evenness: the sum of the squares of their shares in the change; 1 / blocks where all weigh the
        same.
    """

    log: float
    variance_factor: float
    squares: float
    freedom: int
    processes: int
    least: float
    most: float
    between: float
    blocks: int
    evenness: float


def difference(base: Sequence[BlockGroup], new: Sequence[BlockGroup]) -> Difference | None:
    """None where no block has both sides."""
    old_groups, new_groups = _in_turn(base), _in_turn(new)
    shared = old_groups.keys() & new_groups.keys()
    if not shared:
        return None
    changes, weights = [], []
    for block in shared:
        old, fresh = old_groups[block], new_groups[block]
        changes.append(fresh.mean - old.mean)
        weights.append(old.n * fresh.n / (old.n + fresh.n))  # σ² / variance of the change
    weight = math.fsum(weights)
    log = math.fsum(map(math.prod, zip(weights, changes, strict=True))) / weight

    groups = [*old_groups.values(), *new_groups.values()]
    between = 0.0
    for change, own_weight in zip(changes, weights, strict=True):
        between += own_weight * (change - log) ** 2
    squares = math.fsum(group.m2 for group in groups) + between
    # One degree for each block's level, and one for the change
    freedom = sum(group.n for group in groups) - len(old_groups.keys() | new_groups.keys()) - 1
    fewest = min(_count(side[block] for block in shared) for side in (old_groups, new_groups))
    evenness = math.fsum((own_weight / weight) ** 2 for own_weight in weights)
    return Difference(
        log=log,
        variance_factor=1 / weight,
        squares=squares,
        freedom=freedom,
        processes=fewest,
        least=min(changes),
        most=max(changes),
        between=between,
        blocks=len(shared),
        evenness=evenness,
    )


def plain_difference(base: Sequence[BlockGroup], new: Sequence[BlockGroup]) -> float | None:
    """The change in the values' own unit within blocks; None where no block has both sides."""
    old_groups, new_groups = _in_turn(base), _in_turn(new)
    shared = old_groups.keys() & new_groups.keys()
    if not shared:
        return None
    changes = [
        math.exp(new_groups[block].mean) - math.exp(old_groups[block].mean) for block in shared
    ]
    return math.fsum(changes) / len(changes)


def _in_turn(groups: Iterable[BlockGroup]) -> dict[Block, BlockGroup]:
    return {group.block: group for group in groups if group.block.session}


def _count(groups: Iterable[BlockGroup]) -> int:
    return sum(group.n for group in groups)
