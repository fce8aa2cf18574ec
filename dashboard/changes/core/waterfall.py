"""A change as a waterfall: the level before, what added to it and what took from it, the level
after. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.language.wording import plural
from dashboard.results.core.kernel_diff import KernelChange, KernelDiff
from dashboard.results.core.kernel_profile import Kernel
from dashboard.results.core.kernel_roles import purpose
from dashboard.results.core.kernel_words import differences

WIDTH = 100.0
_LEAST_WIDTH = 0.3
_MOST_OPERATORS = 2
_MOST_LETTERS = 60
_MOST_PARTS = 5
REST, ALL = "Everything else", "Change"  # parts without a name of their own
_LEAST_PART = 0.02  # of everything that moved: smaller parts are summed
_CUT_BELOW = 0.7  # of the longest bar: where no bar ends below it, the axis begins later
_LIBRARIES = (  # part of a kernel's name, in lower case -> whose it is
    ("cudnn", "cuDNN"),
    ("cutlass", "CUTLASS"),
    ("flash", "FlashAttention"),
    ("triton", "Triton"),
    ("nvjet", "cuBLAS"),
    ("cublas", "cuBLAS"),
    ("gemm", "cuBLAS"),
    ("at::native", "ATen"),
    ("mkl", "oneDNN"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Something that moved a level. amount: in the unit of the level. about: what became of it."""

    name: str
    amount: float
    about: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A bar, from `x` on, in percent of the width. is_level: else it is a part of the change."""

    name: str
    about: str
    amount: float
    x: float
    width: float
    is_level: bool = False


@dataclass(frozen=True, slots=True)
class Waterfall:
    """is_cut: its axis does not begin at zero."""

    steps: Sequence[Step]
    is_cut: bool


def waterfall(before: Part, after: Part, parts: Sequence[Part]) -> Waterfall:
    """Lay the bars out; what the parts leave of the change is one more of them."""
    rest = after.amount - before.amount - sum(part.amount for part in parts)
    moved = sum(abs(part.amount) for part in parts) + abs(rest)
    listed = list(parts)
    if abs(rest) > _LEAST_PART * moved:
        listed.append(Part(REST if parts else ALL, rest))

    ends = [before.amount]
    for part in listed:
        ends.append(ends[-1] + part.amount)
    least, most = min(*ends, after.amount), max(*ends, after.amount)
    is_cut = least > _CUT_BELOW * most > 0
    zero = least - (most - least) if is_cut and most > least else 0.0
    scale = WIDTH / ((most - zero) or 1.0)

    steps = [_level(before, zero, scale)]
    for part, start in zip(listed, ends, strict=False):
        left = min(start, start + part.amount)
        width = max(abs(part.amount) * scale, _LEAST_WIDTH)
        steps.append(Step(part.name, part.about, part.amount, (left - zero) * scale, width))
    return Waterfall([*steps, _level(after, zero, scale)], is_cut)


def _level(level: Part, zero: float, scale: float) -> Step:
    width = max((level.amount - zero) * scale, _LEAST_WIDTH)
    return Step(level.name, level.about, level.amount, 0.0, width, is_level=True)


def kernel_parts(diff: KernelDiff) -> list[Part]:
    """The kernels that moved most, what is longer first; the others as two sums."""
    least = _LEAST_PART * (diff.added_ms + diff.saved_ms)
    largest = sorted(diff.changes, key=lambda change: -abs(change.ms))[:_MOST_PARTS]
    named = [change for change in largest if abs(change.ms) > least and not _is_rest(change)]
    others = [change for change in diff.changes if change not in named]
    parts = [_kernel_part(change) for change in sorted(named, key=lambda change: -change.ms)]
    groups = []
    for word, sign in (("slower", 1), ("faster", -1)):
        amounts = [change.ms for change in others if change.ms * sign > 0]
        if abs(sum(amounts)) > least / 2:
            groups.append(Part(f"{plural(len(amounts), diff.base.noun)} {word}", sum(amounts)))
    return parts + groups


def _is_rest(change: KernelChange) -> bool:
    return change.match == "not listed"


def _kernel_part(change: KernelChange) -> Part:
    kernels = change.new or change.base
    operators = kernels[0].nodes.partition(" of ")[0]
    words = [operator.removeprefix("aten.").strip("_") for operator in operators.split(", ")]
    if operators and kernels[0].kind == "triton":
        more = f" and {len(words) - _MOST_OPERATORS} more" if len(words) > _MOST_OPERATORS else ""
        name = ", ".join(words[:_MOST_OPERATORS]) + more
    else:
        name = purpose(kernels[0]) or change.role or kernels[0].short_name
        name = name.removeprefix("aten_").removeprefix("aten::")
    return Part(
        name[:1].upper() + name[1:_MOST_LETTERS].replace("_", " "), change.ms, _became(change)
    )


def _became(change: KernelChange) -> str:
    """Say by what it is computed now: "cuDNN → CUTLASS", "2 Triton kernels → 1", "new"."""
    if change.match in {"new", "gone"}:
        return change.match
    before, after = _library(change.base[0]), _library(change.new[0])
    if before != after:
        return f"{before} → {after}"
    if len(change.base) != len(change.new):
        return f"{plural(len(change.base), f'{after} kernel')} → {len(change.new)}"
    if change.is_launched_otherwise:
        return "launched otherwise"
    return ", ".join(differences(change)[:1])


def _library(kernel: Kernel) -> str:
    name = kernel.name.lower()
    return next((label for part, label in _LIBRARIES if part in name), "ATen")
