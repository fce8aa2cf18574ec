"""Changes of PyTorch's that have a page of their own, recognized in what two jobs recorded. Pure.

Only names count, of kernels and of the compiler's functions: what merely takes longer may have many
causes, so a change without names of its own is not in the table.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.catalog.core.versions import version_order
from dashboard.results.core.compile_diff import CallTable
from dashboard.results.core.kernel_diff import KernelDiff
from dashboard.results.core.kernel_profile import ArmProfile

_LEAST_SHARE = 0.01  # of a step's kernels, or of all calls: less explains nothing


@dataclass(frozen=True, slots=True)
class KnownChange:
    """A change between two releases, and the names by which it is recognized.

    since: the first release known to have it. came: what only the newer side has.
    gone: what did its work before, and does less since; None where nothing did.
    is_named: what came is the change itself; else it fits, and the cause may be another one.
    sentence: goes on after "since 2.12 ". clause: the same where there is no room for it.
    page: its slug in the documentation.
    """

    since: str
    came: re.Pattern[str]
    gone: re.Pattern[str] | None
    is_named: bool
    sentence: str
    clause: str
    page: str

    @property
    def text(self) -> str:
        certainty = "A known change" if self.is_named else "Likely a known change, by its kernels"
        return f"{certainty}: since {self.since} {self.sentence}"

    @property
    def brief(self) -> str:
        """For beside a verdict."""
        certainty = "since" if self.is_named else "likely since"
        return f"{certainty} {self.since}: {self.clause}"


KNOWN_CHANGES = (
    KnownChange(
        since="2.12",
        # Attention that drops something by its name: in flash's, the first flag after its traits
        came=re.compile(
            r"fmha_cutlassB\w*_dropout"
            r"|pytorch_flash::flash_(?:fwd|bwd_dq_dk_dv\w*)_kernel<.*> >, true"
        ),
        gone=re.compile(r"cudnn\w*_sdpa_"),
        is_named=False,
        sentence="PyTorch no longer uses cuDNN for attention whose dropout is not a multiple of "
        "1/16, because some of its kernels round the dropout: older releases may have trained with "
        "another one than was asked for. Drift is checked without dropout and cannot show that.",
        clause="attention with dropout left cuDNN, which may round the dropout; what replaces it "
        "depends on the mask",
        page="attention-dropout",
    ),
    KnownChange(
        since="2.13",
        came=re.compile(r":Scheduler\._try_reindex_pointwise_for_reduction$"),
        gone=None,
        is_named=True,
        sentence="Inductor reindexes loops to fuse two kernels, also for fusions that it then "
        "refuses (Scheduler._try_reindex_pointwise_for_reduction).",
        clause="Inductor reindexes loops to fuse two kernels",
        page="loop-reindexing",
    ),
)


@dataclass(frozen=True, slots=True)
class KnownCost:
    """What a compiled step pays, whichever the release.

    kernels: of which it has a share. brief: for beside a verdict. page: its slug in the
    documentation.
    """

    kernels: re.Pattern[str]
    brief: str
    page: str


KNOWN_COSTS = (
    KnownCost(
        # The softmax of SDPA's math backend, with a mask that was made of positions
        kernels=re.compile(r"_safe_softmax\w*_expand_ge"),
        brief="compiled, attention runs in no fused kernel, likely because transformers gives it a "
        "mask while it is traced",
        page="attention-mask",
    ),
)


@dataclass(frozen=True, slots=True)
class _Work:
    """What one side did. torch: the version of its build. amounts: by name. total: all of it."""

    torch: str
    amounts: Mapping[str, float]
    total: float

    def amount(self, names: re.Pattern[str]) -> float:
        return sum(amount for name, amount in self.amounts.items() if names.search(name))


def in_kernels(diff: KernelDiff) -> list[KnownChange]:
    """Those that show in the profiles of one case on GPUs of one kind."""
    return _recognized(_kernel_work(diff.base), _kernel_work(diff.new))


def costs_in_kernels(*profiles: ArmProfile) -> list[KnownCost]:
    """Those that each of these compiled steps shows."""
    steps = [_kernel_work(profile) for profile in profiles]
    costs = []
    for cost in KNOWN_COSTS:
        if all(step.amount(cost.kernels) >= _LEAST_SHARE * step.total for step in steps):
            costs.append(cost)
    return costs


def in_calls(base_torch: str, base: CallTable, new_torch: str, new: CallTable) -> list[KnownChange]:
    """Those that show in the compilations of two builds, whose versions are given."""
    return _recognized(
        _Work(base_torch, base.below, base.calls.total()),
        _Work(new_torch, new.below, new.calls.total()),
    )


def _kernel_work(profile: ArmProfile) -> _Work:
    ms = defaultdict[str, float](float)
    for kernel in profile.kernels:
        ms[kernel.name] += kernel.ms
    return _Work(profile.torch, ms, profile.total_ms)


def _recognized(base: _Work, new: _Work) -> list[KnownChange]:
    return [change for change in KNOWN_CHANGES if _shows(change, base, new)]


def _shows(change: KnownChange, base: _Work, new: _Work) -> bool:
    if not () < _release(base.torch) < _release(change.since) <= _release(new.torch):
        return False
    if base.amount(change.came) or new.amount(change.came) < _LEAST_SHARE * new.total:
        return False
    return change.gone is None or new.amount(change.gone) < base.amount(change.gone)


def _release(version: str) -> tuple[int, ...]:
    """A nightly, or a candidate, counts as the release that it leads to; empty: not known."""
    is_version, parsed = version_order(version)
    return parsed.release if is_version else ()
