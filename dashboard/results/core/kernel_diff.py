"""Kernels that account for the difference between two profiles. Pure: two tables in, one out.

A kernel is looked for on the other side by what identifies it best: its source, its role
(`kernel_roles`) and the graph's nodes that it computes, its exact name, its role. What is left over
is new or gone, or the one in place of the other where both compute nearly the same nodes, have one
purpose, or fuse nearly the same operators. A kernel whose nodes another one of the other side
computes besides its own is in the row of that one: two that became one, or one that became two.
Every kernel is in exactly one row, so the rows add up to the difference.

A kernel of a library, or a copy of PyTorch's, that is called more or less often than before hands
work to others, or takes it over: it is not matched by its name or role, but with all that have its
purpose; one of the compiler's, with all that have its role.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from dashboard.results.core.kernel_profile import ArmProfile, Kernel
from dashboard.results.core.kernel_roles import (
    have_other_nodes,
    part_in,
    purpose,
    role,
    shared_nodes,
    shared_operators,
    work,
)

Match = Literal["source", "nodes", "name", "role", "replacement", "new", "gone", "not listed"]
NOT_LISTED = "Kernels beyond the longest ones"
_ALIKE = 0.75  # of the operators of two fused kernels, or of the nodes of the smaller one
_ALIKE_IN_NODES = 0.6  # of those of both
# Of the other's: what takes less of its time, or has less of its calls, does other work
_LEAST_TIME, _LEAST_CALLS = 0.01, 0.5


@dataclass(frozen=True, slots=True)
class KernelChange:
    """The kernels of both sides that are taken for the same, or for each other's replacement.

    match: by what. role: what they are, where several or different ones are in it.
    """

    match: Match
    role: str
    base: tuple[Kernel, ...]
    new: tuple[Kernel, ...]

    @property
    def base_ms(self) -> float:
        return sum(kernel.ms for kernel in self.base)

    @property
    def new_ms(self) -> float:
        return sum(kernel.ms for kernel in self.new)

    @property
    def ms(self) -> float:
        """New minus base, per step."""
        return self.new_ms - self.base_ms

    @property
    def base_calls(self) -> float:
        return sum(kernel.calls for kernel in self.base)

    @property
    def new_calls(self) -> float:
        return sum(kernel.calls for kernel in self.new)

    @property
    def kind(self) -> str:
        return (self.new or self.base)[0].kind

    @property
    def is_one_kernel(self) -> bool:
        """True if neither side has more than one kernel, and each is listed."""
        return len(self.base) <= 1 and len(self.new) <= 1 and self.match != "not listed"

    @property
    def is_launched_otherwise(self) -> bool:
        """True if it is the same source with another grid or block size.

        Inductor chooses these by timing: another process of either build may launch it as the
        other one did.
        """
        if self.match != "source" or not (len(self.base) == len(self.new) == 1):
            return False
        (base,), (new,) = self.base, self.new
        return bool(base.grid and new.grid) and (base.grid, base.block) != (new.grid, new.block)


@dataclass(frozen=True, slots=True)
class KernelDiff:
    """changes: what takes more time first, what takes less last."""

    base: ArmProfile
    new: ArmProfile
    changes: tuple[KernelChange, ...]

    @property
    def arm(self) -> str:
        return self.new.arm

    @property
    def ms(self) -> float:
        """New minus base, of all kernels of a step."""
        return self.new.total_ms - self.base.total_ms

    @property
    def added_ms(self) -> float:
        """Milliseconds added by the kernels that take more time."""
        return sum(change.ms for change in self.changes if change.ms > 0)

    @property
    def saved_ms(self) -> float:
        """Milliseconds saved by the kernels that take less time."""
        return sum(-change.ms for change in self.changes if change.ms < 0)

    @property
    def launch_ms(self) -> float:
        """Part of `ms` from kernels whose source is the same, but which were launched otherwise.

        Only those count that take more time where the step does, or less where it takes less.
        """
        launched = [change.ms for change in self.changes if change.is_launched_otherwise]
        return sum(ms for ms in launched if ms * self.ms > 0)

    def share(self, change: KernelChange) -> float:
        """Percent of the time that is added, or of the time that is saved: at most 100."""
        whole = self.added_ms if change.ms > 0 else self.saved_ms
        return 100 * abs(change.ms) / whole if whole else 0.0


def kernel_diff(base: ArmProfile, new: ArmProfile) -> KernelDiff | None:
    """None where kernels of a GPU would be compared with operators of a CPU."""
    if base.device != new.device:
        return None
    matching = _Matching(list(base.kernels), list(new.kernels))
    matching.by_key("source", lambda kernel: kernel.source)
    matching.by_key("nodes", work)
    matching.by_key("name", lambda kernel: kernel.name)
    matching.in_pairs("nodes", shared_nodes, _ALIKE_IN_NODES)
    matching.by_key("role", role)
    matching.by_key("replacement", purpose)
    matching.in_pairs("replacement", shared_operators, _ALIKE)
    changes = _with_parts(matching.finished())
    if base.has_rest or new.has_rest:
        changes.append(KernelChange("not listed", NOT_LISTED, _rest(base), _rest(new)))
    return KernelDiff(base, new, tuple(sorted(changes, key=lambda change: -change.ms)))


@dataclass(slots=True)
class _Matching:
    """olds, news: the kernels of the two sides that are not matched yet. changes: the others."""

    olds: list[Kernel]
    news: list[Kernel]
    changes: list[KernelChange] = field(default_factory=list)

    def by_key(self, match: Match, key_of: Callable[[Kernel], Hashable]) -> None:
        """All kernels of both sides that have a key in common; an empty key is none."""
        base, new = _by_key(key_of, self.olds), _by_key(key_of, self.news)
        for key, kernels in base.items():
            if key and key in new:
                change = KernelChange(match, _role_of(kernels), kernels, new[key])
                is_doubtful = _hands_over(change) or _has_other_nodes(change)
                if match not in {"name", "role"} or not is_doubtful:
                    self._take(change)

    def in_pairs(
        self, match: Match, share_of: Callable[[Kernel, Kernel], float], least: float
    ) -> None:
        """One of each side that do nearly the same, the most alike first, then those that take
        nearly as long.
        """
        pairs = []
        for old, fresh in product(self.olds, self.news):
            share = share_of(old, fresh)
            if share >= least and _may_be_one(old, fresh):
                pairs.append((share, _closeness(old.ms, fresh.ms), old, fresh))
        taken: list[Kernel] = []
        for _, _, old, fresh in sorted(pairs, key=lambda pair: pair[:2], reverse=True):
            if all(old is not kernel and fresh is not kernel for kernel in taken):
                taken += [old, fresh]
                self._take(KernelChange(match, _role_of([fresh]), (old,), (fresh,)))

    def finished(self) -> list[KernelChange]:
        """With what is left over."""
        gone = [KernelChange("gone", "", (kernel,), ()) for kernel in self.olds]
        return [*self.changes, *gone, *(KernelChange("new", "", (), (k,)) for k in self.news)]

    def _take(self, change: KernelChange) -> None:
        self.changes.append(change)
        taken = {id(kernel) for kernel in (*change.base, *change.new)}
        self.olds = [kernel for kernel in self.olds if id(kernel) not in taken]
        self.news = [kernel for kernel in self.news if id(kernel) not in taken]


def _with_parts(changes: Sequence[KernelChange]) -> list[KernelChange]:
    """With what is new, or gone, in the rows of those that compute most of its nodes."""
    rows = list(changes)
    alone = [change for change in changes if change.match in {"new", "gone"}]
    for change in sorted(alone, key=lambda change: -abs(change.ms)):
        if change not in rows:  # another one was joined to it
            continue
        whole = max(rows, key=lambda row: _part_in_row(change, row))
        share, _ = _part_in_row(change, whole)
        if share >= _ALIKE:
            rows.remove(change)
            rows.remove(whole)
            rows.append(_joined(whole, change))
    return rows


def _part_in_row(alone: KernelChange, row: KernelChange) -> tuple[float, float]:
    """Compare a kernel without a counterpart with the row's kernels on the other side.

    Return the largest share of its nodes that one of these computes, and how close that one's time
    is. Both are 0 for a row that is known to hold one and the same kernel, or that holds several
    for another reason.
    """
    (kernel,) = alone.base or alone.new
    others = row.new if alone.base else row.base
    is_open = row.match in {"nodes", "new", "gone"}
    is_pair = row.match in {"role", "replacement"} and row.is_one_kernel
    if not (is_open or is_pair):
        return 0.0, 0.0
    shares = []
    for other in others:
        if _may_be_one(kernel, other):
            shares.append((part_in(kernel, other), _closeness(kernel.ms, other.ms)))
    return max(shares, default=(0.0, 0.0))


def _joined(one: KernelChange, other: KernelChange) -> KernelChange:
    """Both in one, the longest kernels first."""
    base, new = (
        tuple(sorted(side, key=lambda kernel: -kernel.ms))
        for side in (one.base + other.base, one.new + other.new)
    )
    return KernelChange("nodes", _role_of(new), base, new)


def _may_be_one(one: Kernel, other: Kernel) -> bool:
    """Test whether their times and calls let one do the other's work."""
    if _closeness(one.calls, other.calls) < _LEAST_CALLS:
        return False
    return _closeness(one.ms, other.ms) >= _LEAST_TIME


def _closeness(one: float, other: float) -> float:
    """The smaller as a share of the larger one."""
    return min(one, other) / max(one, other) if max(one, other) else 1.0


def _has_other_nodes(change: KernelChange) -> bool:
    """Test whether it has one kernel on each side, known to compute nothing of the other's."""
    if not (len(change.base) == len(change.new) == 1):
        return False
    return have_other_nodes(change.base[0], change.new[0])


def _hands_over(change: KernelChange) -> bool:
    """Test whether it is called more or less often, and others may do what it did.

    The others have its purpose or, where the compiler wrote it, its role, because each graph
    numbers its kernels by itself.
    """
    if not purpose(change.new[0]) or (change.kind == "triton" and change.match != "name"):
        return False
    return round(change.base_calls) != round(change.new_calls)


def _by_key(
    key_of: Callable[[Kernel], Hashable], kernels: Iterable[Kernel]
) -> dict[Hashable, tuple[Kernel, ...]]:
    groups: dict[Hashable, tuple[Kernel, ...]] = {}
    for kernel in kernels:
        key = key_of(kernel)
        groups[key] = (*groups.get(key, ()), kernel)
    return groups


def _role_of(kernels: Sequence[Kernel]) -> str:
    first = kernels[0]
    return role(first)[1] if first.kind == "triton" else purpose(first) or role(first)[1]


def _rest(profile: ArmProfile) -> tuple[Kernel, ...]:
    if not profile.has_rest:
        return ()
    return (Kernel(NOT_LISTED, "other", profile.rest_calls, profile.rest_ms),)
