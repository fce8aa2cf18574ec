"""The difference of two profiles, as a sentence and as the rows of a table. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.language.wording import number
from dashboard.results.core.kernel_diff import KernelChange, KernelDiff, Match
from dashboard.results.core.kernel_profile import Kernel

ONE_PROFILE = (
    "One profile of each side: what differs may be the difference between two processes of one "
    "build."
)
MATCHES: dict[Match, str] = {
    "source": "the same source",
    "nodes": "mostly the same nodes of the graph",
    "name": "the same name",
    "role": "the same but for numbers and flags in its name",
    "replacement": "one in place of the other",
    "new": "new",
    "gone": "gone",
    "not listed": "not listed one by one",
}
_MOST_ROWS = 30
_MOST_NAMES = 3  # of the kernels of one side of a row
_HARDLY = 1.0  # percent of a step's kernels; less is not called a change
_MOST = 90.0  # percent of the time that is added or saved, which the sentence explains
_MOST_NAMED = 3
_OPPOSITE = 0.05  # of the larger one of added and saved time, from which the other is worth a word
_CHOSEN, _ALL = 0.25, 0.98  # parts by another launch: worth a word, all of it
_NUMBERS = ("no", "one", "two", "three")


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A row of the table. share: percent of the time that is added, or of that which is saved.

    base, new: the kernels that it names; more: how many it does not name.
    differences: what else differs.
    """

    change: KernelChange
    share: float
    differences: Sequence[str]

    @property
    def match(self) -> str:
        if self.change.match == "replacement" and not self.change.is_one_kernel:
            return "one group in place of the other"
        return MATCHES[self.change.match]

    @property
    def base(self) -> Sequence[Kernel]:
        return self.change.base[:_MOST_NAMES]

    @property
    def new(self) -> Sequence[Kernel]:
        return self.change.new[:_MOST_NAMES]

    @property
    def more(self) -> int:
        kernels = len(self.change.base) + len(self.change.new)
        return kernels - len(self.base) - len(self.new)

    @property
    def same_name(self) -> str:
        """Name of one kernel that is called the same on both sides; else empty."""
        if self.change.match == "not listed":
            return self.change.role
        base, new = self.change.base, self.change.new
        if not base or not new or len({kernel.name for kernel in (*base, *new)}) > 1:
            return ""
        return new[0].short_name


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The rows worth showing, in the order of the diff, and the sum of the others."""

    diff: KernelDiff
    rows: Sequence[KernelRow]
    others: int
    others_base_ms: float
    others_new_ms: float

    @property
    def others_ms(self) -> float:
        return self.others_new_ms - self.others_base_ms

    @property
    def sentence(self) -> str:
        return sentence(self.diff)


def kernel_table(diff: KernelDiff) -> KernelTable:
    """The rows that differ most; the others are summed."""
    largest = sorted(diff.changes, key=lambda change: -abs(change.ms))
    shown = sorted(largest[:_MOST_ROWS], key=lambda change: -change.ms)
    others = largest[_MOST_ROWS:]
    return KernelTable(
        diff,
        [KernelRow(change, diff.share(change), differences(change)) for change in shown],
        len(others),
        sum(change.base_ms for change in others),
        sum(change.new_ms for change in others),
    )


def sentence(diff: KernelDiff) -> str:
    """Describe which kernels account for the difference.

    "A compiled step's kernels take 23.1 ms more (52.1 → 75.2 ms): 91% of the 25.4 ms added come
    from three kernels: …".
    """
    base_ms, new_ms = diff.base.total_ms, diff.new.total_ms
    article = "An" if diff.arm == "eager" else "A"
    subject = f"{article} {diff.arm} step's {diff.base.noun}s"
    span = f"{number(base_ms)} → {number(new_ms)} ms"
    if abs(diff.ms) * 100 <= _HARDLY * base_ms:
        text = f"{subject} take the same time within {_HARDLY:.0f}% ({span})"
        if max(diff.added_ms, diff.saved_ms) * 100 <= _HARDLY * base_ms:
            return f"{text}."
        added, saved = number(diff.added_ms), number(diff.saved_ms)
        return f"{text}: some take {added} ms more, others {saved} ms less."
    comparison = "more" if diff.ms > 0 else "less"
    text = f"{subject} take {number(abs(diff.ms))} ms {comparison} ({span}): {_shares(diff)}."
    return f"{text}{_by_launch(diff)}"


def _by_launch(diff: KernelDiff) -> str:
    """Explain a change that the next process may not have; empty if there is none."""
    part = _launch_part(diff)
    if not part:
        return ""
    amount = "All" if part >= _ALL else f"{number(abs(diff.launch_ms))} ms"
    return (
        f" {amount} of this is the same source with another launch (its block size, or warps). "
        "Inductor mostly chooses that by autotuning: another process may run another one."
    )


def _launch_part(diff: KernelDiff) -> float:
    """Compute the part of the time that is added, or saved, by another launch.

    0 where it is not worth a word, and no kernel that the sentence names is one of these.
    """
    part = abs(diff.launch_ms) / (diff.added_ms if diff.ms > 0 else diff.saved_ms)
    is_named = any(change.is_launched_otherwise for change in _named(diff))
    return part if part >= _CHOSEN or is_named else 0.0


def _rows(diff: KernelDiff) -> list[KernelChange]:
    """List the changes that go the way of the whole, the largest first."""
    if diff.ms > 0:
        return [change for change in diff.changes if change.ms > 0]
    return [change for change in reversed(diff.changes) if change.ms < 0]


def _named(diff: KernelDiff) -> list[KernelChange]:
    """Choose the changes that the sentence names."""
    rows, named = _rows(diff), list[KernelChange]()
    whole = diff.added_ms if diff.ms > 0 else diff.saved_ms
    while len(named) < _MOST_NAMED and 100 * _sum(named) < _MOST * whole:
        named.append(rows[len(named)])
    return named


def _shares(diff: KernelDiff) -> str:
    """The part of the added (or saved) time that the largest changes make, and what they are."""
    is_more = diff.ms > 0
    whole, opposite = diff.added_ms, diff.saved_ms
    if not is_more:
        whole, opposite = opposite, whole
    named = _named(diff)
    share = (
        "all" if len(named) == len(_rows(diff)) else f"{min(100 * _sum(named) / whole, 99):.0f}%"
    )
    verb, other_verb = ("added", "save") if is_more else ("saved", "add")
    text = f"{share} of the {number(whole)} ms {verb} come from {_count(named, diff)}"
    text += f": {'; '.join(map(_described, named))}"
    if opposite > _OPPOSITE * whole:
        text += f"; others {other_verb} {number(opposite)} ms"
    return text


def _sum(changes: Sequence[KernelChange]) -> float:
    return abs(sum(change.ms for change in changes))


def _count(changes: Sequence[KernelChange], diff: KernelDiff) -> str:
    noun = diff.base.noun
    if not all(change.is_one_kernel for change in changes):
        noun = f"group of {noun}s" if len(changes) == 1 else f"groups of {noun}s"
    elif len(changes) != 1:
        noun = f"{noun}s"
    return f"{_NUMBERS[len(changes)]} {noun}"


def _described(change: KernelChange) -> str:
    """Describe what changed and what it adds: "cat (new), +5.1 ms"."""
    size = f"{signed_ms(change.ms)} ms"
    if change.match in {"new", "gone"}:
        return f"{(change.new or change.base)[0].short_name} ({change.match}), {size}"
    if change.match in {"nodes", "replacement"}:
        now, before = _names(change.new), _names(change.base)
        sides = f"{now} in place of {before}" if now != before else now  # as far as they are shown
        named_by_its_work = change.kind == "triton"
        return f"{sides}, {size}" if named_by_its_work else f"{change.role}, {sides}, {size}"
    if change.is_one_kernel:
        return f"{change.new[0].short_name}, {size}"
    return f"{change.role}, {size}"


def _names(kernels: Sequence[Kernel]) -> str:
    first = kernels[0].short_name
    return first if len(kernels) == 1 else f"{first} and {len(kernels) - 1} more"


def signed_ms(ms: float) -> str:
    """A change in milliseconds with its sign: "+12.4", "−0.310"."""
    return f"{'+' if ms > 0 else '−' if ms < 0 else ''}{number(abs(ms))}"


def differences(change: KernelChange) -> list[str]:
    """List what else differs between one kernel and the one that it is taken for."""
    if len(change.base) != 1 or len(change.new) != 1 or change.match == "not listed":
        return []
    base, new = change.base[0], change.new[0]
    texts = []
    if base.source and new.source and base.source != new.source:
        texts.append("other source")
    facts = (
        ("registers", base.registers, new.registers),
        ("spills", base.spills, new.spills),
        ("shared bytes", base.shared_bytes, new.shared_bytes),
        ("grid", _shape(base.grid), _shape(new.grid)),
        ("block", _shape(base.block), _shape(new.block)),
    )
    for name, before, after in facts:
        if before is not None and after is not None and before != after:
            texts.append(f"{name} {before} → {after}")
    return texts


def _shape(sizes: Sequence[int]) -> str | None:
    return "×".join(map(str, sizes)) or None
