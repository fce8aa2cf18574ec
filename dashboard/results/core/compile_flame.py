"""The call trees of two compilations as one flame graph of their difference. Pure.

A frame is a function on one path from the root; its width is the mean of the calls at and below it
on both sides, its shade how far the sides differ. The tables know who called whom, not every path:
calls below a function are spread over its callers' paths in proportion, as gprof does. A function
that is on the path already is not drawn again below itself: what it calls there is.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dashboard.results.core.compile_diff import CallChange, CallTable

WIDTH = 1000.0  # of the drawing, in its own units, as the rest
ROW = 18.0
_CHARACTER = 6.4
_LEAST_SHARE = 0.004  # of all calls: a narrower frame is left out,
_LEAST_DIFFERENCE = 0.002  # unless its sides differ by this share
_PASSED_ON = 0.97  # a function that hands on so much to one other has no frame of its own
_DEEPEST = 40  # rows
_LONGEST_PATH = 1000  # functions, as Python's own limit: the time grows with the square
_SHADES = (0.001, 0.003, 0.01)  # shares of all calls from which a difference is shade 1, 2, 3


@dataclass(frozen=True, slots=True)
class Weight:
    """Calls at and below a place in the tree, on both sides."""

    before: float
    after: float

    @property
    def mean(self) -> float:
        return (self.before + self.after) / 2

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle of the flame graph.

    change: the calls at and below the function on this path.
    shade: -3 … 3, fewer to more calls on the second side.
    """

    change: CallChange
    x: float
    y: float
    width: float
    shade: int

    @property
    def text_x(self) -> float:
        return round(self.x + 3, 2)

    @property
    def text_y(self) -> float:
        return self.y + 0.7 * ROW

    @property
    def shade_class(self) -> str:
        direction = "more" if self.shade > 0 else "fewer"
        return f"{direction}-{abs(self.shade)}" if self.shade else "same"

    @property
    def label(self) -> str:
        """As much of the function's name as fits."""
        room = int((self.width - 6) / _CHARACTER)
        name = self.change.name.rpartition(":")[2].replace("<locals>.", "")
        if len(name) <= room:
            return name
        return f"{name[: room - 1]}…" if room > 3 else ""


def frames(old: CallTable, new: CallTable, root: str = "") -> list[Frame]:
    """The frames from a function down; without one, from those that nothing called."""
    if root:
        tops = {root: Weight(old.below[root], new.below[root])}
    else:
        names = {*old.roots(), *new.roots()}
        tops = {name: Weight(old.below[name], new.below[name]) for name in names}
    total = sum(weight.mean for weight in tops.values())
    return list(_Drawing(old, new, total).row(tops, (), 0.0, 0)) if total else []


@dataclass(frozen=True, slots=True)
class _Drawing:
    """total: the calls that the whole width stands for."""

    old: CallTable
    new: CallTable
    total: float

    def row(
        self, weights: dict[str, Weight], path: tuple[str, ...], x: float, depth: int
    ) -> Iterator[Frame]:
        """The frames of some functions next to each other, each with all below it."""
        widest_first = sorted(weights.items(), key=lambda item: (-item[1].mean, item[0]))
        for name, weight in widest_first:
            width = WIDTH * weight.mean / self.total
            if self._is_drawn(weight):
                yield from self._frame(name, weight, path, x, depth)
            x += width

    def _frame(
        self, name: str, weight: Weight, path: tuple[str, ...], x: float, depth: int
    ) -> Iterator[Frame]:
        below = self._callees(name, weight, path)
        while len(path) < _LONGEST_PATH and (heir := _heir(below, weight)):
            path = (*path, name)
            name, weight = heir, below[heir]
            below = self._callees(name, weight, path)
        yield Frame(
            CallChange(name, round(weight.before), round(weight.after)),
            round(x, 2),
            depth * ROW,
            round(WIDTH * weight.mean / self.total, 2),
            self._shade(weight),
        )
        if depth + 1 < _DEEPEST:
            yield from self.row(below, (*path, name), x, depth + 1)

    def _callees(self, name: str, weight: Weight, path: tuple[str, ...]) -> dict[str, Weight]:
        before = _spread(self.old, name, weight.before, path)
        after = _spread(self.new, name, weight.after, path)
        names = before.keys() | after.keys()
        return {callee: Weight(before.get(callee, 0), after.get(callee, 0)) for callee in names}

    def _is_drawn(self, weight: Weight) -> bool:
        is_wide = weight.mean >= _LEAST_SHARE * self.total
        return is_wide or abs(weight.difference) >= _LEAST_DIFFERENCE * self.total

    def _shade(self, weight: Weight) -> int:
        share = abs(weight.difference) / self.total
        shade = sum(share >= least for least in _SHADES)
        return shade if weight.difference > 0 else -shade


def _spread(table: CallTable, name: str, calls: float, path: tuple[str, ...]) -> dict[str, float]:
    """Divide the calls at and below a function on one path among its callees.

    A callee that is on the path already is a recursion: what it calls stands in its place.
    """
    on_path = {*path, name}
    spread: dict[str, float] = defaultdict(float)
    expanded = {name}
    pending = [(name, table.below[name])]
    while pending:
        caller, room = pending.pop()
        direct = {}
        for callee, edge in table.callees.get(caller, {}).items():
            if callee not in on_path:
                direct[callee] = float(edge.below)
            elif callee not in expanded:
                expanded.add(callee)
                pending.append((callee, min(edge.below, room)))
        for callee, below in _fitted(table, caller, direct, room).items():
            spread[callee] += below
    share = calls / max(table.below[name], 1)  # of this path in all calls of the function
    fitted = _scaled(spread, table.below[name])
    return {callee: below * share for callee, below in fitted.items()}


def _fitted(table: CallTable, caller: str, direct: dict[str, float], room: int) -> dict[str, float]:
    """The calls below each callee so that they fit into the room below the caller.

    They do not where a callee leads back to the caller, whose other callees are then counted below
    that one, too: what leads back comes first, and the others get what it leaves.
    """
    if sum(direct.values()) <= room:
        return direct
    back = {name: below for name, below in direct.items() if _leads_back(table, name, caller)}
    back = _scaled(back, room)
    others = {name: below for name, below in direct.items() if name not in back}
    return back | _scaled(others, room - sum(back.values()))


def _scaled(below: Mapping[str, float], most: float) -> dict[str, float]:
    """The same in proportion, where they are more than ``most`` together; none below zero."""
    total, room = sum(below.values()), max(most, 0.0)
    factor = room / total if total > room else 1.0
    return {name: calls * factor for name, calls in below.items()}


def _leads_back(table: CallTable, callee: str, caller: str) -> bool:
    """Test whether a path of heavy edges leads from the callee back to its caller."""
    least = table.below[caller] / 2
    reached, pending = {callee}, [callee]
    while pending:
        for name, edge in table.callees.get(pending.pop(), {}).items():
            if name == caller and edge.below >= least:
                return True
            if edge.below >= least and name not in reached:
                reached.add(name)
                pending.append(name)
    return False


def _heir(below: dict[str, Weight], weight: Weight) -> str:
    """The function to which nearly all of these calls are handed on; empty for none."""
    for name, callee in below.items():
        if callee.mean >= _PASSED_ON * weight.mean:
            return name
    return ""
