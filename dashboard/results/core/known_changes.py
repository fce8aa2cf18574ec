"""Changes of PyTorch's that have a page of their own, recognized in what two jobs recorded. Pure.

known_changes.json has them. Only names count, of kernels and of the compiler's functions: what
merely takes longer may have many causes, so a change without names of its own is not in the table.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dashboard.catalog.core.versions import version_order
from dashboard.results.core.compile_diff import CallTable
from dashboard.results.core.kernel_diff import KernelDiff
from dashboard.results.core.kernel_profile import ArmProfile

_LEAST_SHARE = 0.01  # of a step's kernels, or of all calls: less explains nothing


@dataclass(frozen=True, slots=True, eq=False)  # a row of the table is equal to itself alone
class KnownChange:
    """A change between two releases, and the names by which it is recognized (`*`: any letters).

    since: the first release known to have it. came: what only the newer side has. gone: what did
    its work before, and does less since. is_named: what came is the change itself; else it fits.
    sentence: goes on after "since 2.12 ". clause: the same in short. page: a slug of the docs.
    """

    since: str
    came: Sequence[str]
    gone: Sequence[str]
    is_named: bool
    sentence: str
    clause: str
    page: str
    source: str

    @property
    def text(self) -> str:
        certainty = "A known change" if self.is_named else "Likely a known change, by its kernels"
        return f"{certainty}: since {self.since} {self.sentence}"

    @property
    def brief(self) -> str:
        """For next to a verdict."""
        certainty = "since" if self.is_named else "likely since"
        return f"{certainty} {self.since}: {self.clause}"


@dataclass(frozen=True, slots=True, eq=False)
class KnownCost:
    """A cost of compiled steps, whichever the release. brief: for next to a verdict."""

    kernels: Sequence[str]
    brief: str
    page: str
    source: str


_TABLE = json.loads(Path(__file__).with_suffix(".json").read_text())
KNOWN_CHANGES = [KnownChange(**row) for row in _TABLE["changes"]]
KNOWN_COSTS = [KnownCost(**row) for row in _TABLE["costs"]]


@dataclass(frozen=True, slots=True)
class _Work:
    """Work of one side. torch: the version of its build. amounts: by name. total: all of it."""

    torch: str
    amounts: Mapping[str, float]
    total: float

    def amount(self, names: Sequence[str]) -> float:
        amounts = self.amounts.items()
        return sum(each for name, each in amounts if any(fnmatchcase(name, of) for of in names))


def in_kernels(diff: KernelDiff) -> list[KnownChange]:
    """Find known changes that show in the profiles of one case on GPUs of one kind."""
    base, new = _kernel_work(diff.base), _kernel_work(diff.new)
    return [change for change in KNOWN_CHANGES if _shows(change, base, new)]


def costs_in_kernels(*profiles: ArmProfile) -> list[KnownCost]:
    """Find known costs that each of these compiled steps shows."""
    steps = [_kernel_work(profile) for profile in profiles]
    return [
        cost
        for cost in KNOWN_COSTS
        if all(step.amount(cost.kernels) >= _LEAST_SHARE * step.total for step in steps)
    ]


def in_calls(base_torch: str, base: CallTable, new_torch: str, new: CallTable) -> list[KnownChange]:
    """Find known changes that show in the compilations of two builds of the given versions."""
    before = _Work(base_torch, base.below, base.calls.total())
    after = _Work(new_torch, new.below, new.calls.total())
    return [change for change in KNOWN_CHANGES if _shows(change, before, after)]


def _kernel_work(profile: ArmProfile) -> _Work:
    ms = defaultdict[str, float](float)
    for kernel in profile.kernels:
        ms[kernel.name] += kernel.ms
    return _Work(profile.torch, ms, profile.total_ms)


def _shows(change: KnownChange, base: _Work, new: _Work) -> bool:
    if not () < _release(base.torch) < _release(change.since) <= _release(new.torch):
        return False
    if base.amount(change.came) or new.amount(change.came) < _LEAST_SHARE * new.total:
        return False
    return not change.gone or new.amount(change.gone) < base.amount(change.gone)


def _release(version: str) -> tuple[int, ...]:
    """A nightly, or a candidate, counts as the release that it leads to; empty: not known."""
    is_version, parsed = version_order(version)
    return parsed.release if is_version else ()
