"""Differences in the work of two compilations: Python calls, function by function. Pure.

The suite's counted start keeps every function with its calls, the calls below it, and the same of
each caller apart (benchmarks_suite/harness/call_counts.py). Names have no line numbers, so that a
function of two releases has one name.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dashboard.language.contracts import Refused
from dashboard.language.wording import grouped
from dashboard.results.core.untrusted import count, parse_json, unpack

CALLS = "compile-calls.json.xz"
MOST_BYTES = 8 * 2**20  # unpacked, of each side: seven times the largest recorded
MOST_FUNCTIONS = 50_000  # five times the most recorded
# Where work came or went. A caller runs about as often on both sides: by at most this factor
_ABOUT_AS_OFTEN = 2
_MUCH_MORE_OFTEN = 10  # and calls something by at least this factor more often on one
_LEAST_SHARE = 0.005  # of all calls, at and below what it calls
_IMPORTS = "<frozen importlib"  # whose callees are modules, each once


@dataclass(frozen=True, slots=True)
class Edge:
    """One function called by one other: how often, and these calls with whatever they called."""

    calls: int = 0
    below: int = 0


@dataclass(frozen=True, slots=True)
class CallTable:
    """The calls of one compilation, by function name.

    below: the calls of a function and of whatever it called. callees: caller -> callee -> edge.
    """

    calls: Counter[str]
    below: Counter[str]
    callees: dict[str, dict[str, Edge]]

    def edge(self, caller: str, callee: str) -> Edge:
        return self.callees.get(caller, {}).get(callee, Edge())

    def roots(self) -> Iterable[str]:
        """The functions that none of the others called."""
        called = {callee for callees in self.callees.values() for callee in callees}
        return [name for name in self.calls if name not in called]


@dataclass(frozen=True, slots=True)
class CallChange:
    """A function, or one that another calls: its calls on both sides."""

    name: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        return self.after - self.before

    @property
    def text(self) -> str:
        """The difference in words: "1,200 more", "none"."""
        if not self.difference:
            return "none"
        return f"{grouped(abs(self.difference))} {'more' if self.difference > 0 else 'fewer'}"


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """A function whose calls differ, and of its callers the one whose calls of it differ most."""

    function: CallChange
    caller: CallChange | None


@dataclass(frozen=True, slots=True)
class CallSite:
    """A function that runs about as often on both sides, and what it calls on one side alone, or
    ten times as often there, the most work first. work: the calls at and below these callees.
    """

    caller: CallChange
    callees: Sequence[CallChange]
    work: CallChange


def read_calls(packed: bytes) -> CallTable:
    """The table of a job's artifact. Raises Refused."""
    try:
        document = parse_json(unpack(packed, MOST_BYTES, "it"))
        calls, below = Counter[str](), Counter[str]()
        for name, function_calls, calls_below in document["functions"]:
            calls[str(name)], below[str(name)] = count(function_calls), count(calls_below)
        names = list(calls)
        if len(names) > MOST_FUNCTIONS:
            raise Refused(f"it has {len(names)} functions")
        callees: defaultdict[str, dict[str, Edge]] = defaultdict(dict)
        for caller, callee, edge_calls, edge_below in document["edges"]:
            callees[names[caller]][names[callee]] = Edge(count(edge_calls), count(edge_below))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise Refused(f"The table of calls cannot be read: {error}") from None
    return CallTable(calls, below, dict(callees))


def function_changes(old: CallTable, new: CallTable, most: int = 20) -> list[FunctionChange]:
    """The functions whose own calls differ most, the largest difference first."""
    changes = _changes(old.calls, new.calls)[:most]
    callers = _largest_callers(old, new, {change.name for change in changes})
    return [FunctionChange(change, callers.get(change.name)) for change in changes]


def call_sites(old: CallTable, new: CallTable, most: int = 10) -> list[CallSite]:
    """Find where work came or went, the largest difference first.

    Sites are not the functions that are called more, but those that began or ceased to call them.
    What a function calls under another name cancels out.
    """
    least = _LEAST_SHARE * max(old.calls.total(), new.calls.total())
    sites = []
    for caller in old.callees.keys() | new.callees.keys():
        before, after = old.calls[caller], new.calls[caller]
        if not caller.startswith(_IMPORTS) and _ratio(before, after) <= _ABOUT_AS_OFTEN:
            site = _call_site(old, new, CallChange(caller, before, after))
            if abs(site.work.difference) >= least:
                sites.append(site)
    sites.sort(key=lambda site: (-abs(site.work.difference), site.caller.name))
    return _outermost(sites)[:most]


def _call_site(old: CallTable, new: CallTable, caller: CallChange) -> CallSite:
    works = []
    for callee in callee_changes(old, new, caller.name):
        if _ratio(callee.before, callee.after) >= _MUCH_MORE_OFTEN:
            before, after = (table.edge(caller.name, callee.name).below for table in (old, new))
            works.append((CallChange(callee.name, before, after), callee))
    works.sort(key=lambda pair: -abs(pair[0].difference))
    before = sum(work.before for work, _ in works)
    after = sum(work.after for work, _ in works)
    callees = [callee for _, callee in works]
    return CallSite(caller, callees, CallChange(caller.name, before, after))


def _outermost(sites: Iterable[CallSite]) -> list[CallSite]:
    """Without what lies within one that is larger: its callee calls less because it runs less."""
    outer: list[CallSite] = []
    within: set[str] = set()
    for site in sites:
        if site.caller.name not in within:
            outer.append(site)
            within |= {callee.name for callee in site.callees}
    return outer


def _ratio(before: int, after: int) -> float:
    """The larger number as a multiple of the smaller."""
    return max(before, after) / min(before, after) if min(before, after) else math.inf


def callee_changes(old: CallTable, new: CallTable, caller: str) -> list[CallChange]:
    """List what one function calls more or less often, the largest difference first."""
    sides = []
    for table in (old, new):
        edges = table.callees.get(caller, {})
        sides.append(Counter({callee: edge.calls for callee, edge in edges.items()}))
    return _changes(*sides)


def caller_changes(old: CallTable, new: CallTable, callee: str) -> list[CallChange]:
    """List who calls one function more or less often, the largest difference first."""
    sides = []
    for table in (old, new):
        calls = Counter[str]()
        for caller, callees in table.callees.items():
            if callee in callees:
                calls[caller] = callees[callee].calls
        sides.append(calls)
    return _changes(*sides)


def _changes(before: Counter[str], after: Counter[str]) -> list[CallChange]:
    names = before.keys() | after.keys()
    changes = [CallChange(name, before[name], after[name]) for name in names]
    differing = [change for change in changes if change.difference]
    return sorted(differing, key=lambda change: (-abs(change.difference), change.name))


def _largest_callers(old: CallTable, new: CallTable, names: set[str]) -> dict[str, CallChange]:
    largest: dict[str, CallChange] = {}
    for caller in old.callees.keys() | new.callees.keys():
        callees = old.callees.get(caller, {}).keys() | new.callees.get(caller, {}).keys()
        for name in callees & names:
            before, after = old.edge(caller, name).calls, new.edge(caller, name).calls
            change = CallChange(caller, before, after)
            known = largest.get(name)
            if known is None or _rank(change) > _rank(known):
                largest[name] = change
    return largest


def _rank(change: CallChange) -> tuple[int, str]:
    return abs(change.difference), change.name
