"""The Python calls of a compilation, by function and by who called whom.

cProfile counts them in C. Its clock is replaced by a counter that advances by one whenever a call
begins or ends, so that the "time" below a function is the number of calls below it: exact, the same
on a busy machine, and recursion counts once. C, C++, LLVM and ptxas are not seen, nor are calls of
builtins. A name has no line number: the same function of two releases has the same name.
"""

import cProfile
import itertools
import json
import lzma
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from benchmarks_suite.harness.portable_text import portable

ARTIFACT = "compile-calls.json.xz"
SCHEMA = "compile-calls.v1"
_GENERATED = re.compile(r"/c[a-z2-7]{51}\.py$")  # Inductor names files by a hash of their contents
_NUMBERED = re.compile(r"[._ ]+\d+$")  # <eval_with_key>.12: code without a file is numbered
_PHASES = (  # the first that begins a path
    ("torch/_dynamo/", "dynamo"),
    ("torch/_guards.py", "dynamo"),
    ("torch/_functorch/", "aot"),
    ("torch/_subclasses/", "aot"),
    ("torch/_decomp/", "aot"),
    ("torch/_refs/", "aot"),
    ("torch/_prims", "aot"),
    ("torch/_meta_registrations.py", "aot"),
    ("torch/_inductor/codegen/", "kernels"),
    ("torch/_inductor/runtime/", "kernels"),
    ("torch/_inductor/codecache.py", "kernels"),
    ("torch/_inductor/cpp_builder.py", "kernels"),
    ("torch/_inductor/async_compile.py", "kernels"),
    ("torch/_inductor/", "inductor"),
    ("triton/", "kernels"),
)
PHASES = ("dynamo", "aot", "inductor", "kernels", "other")

Edge = tuple[str, str]  # caller, callee


@dataclass(frozen=True)
class CallTable:
    """Every function by name, ``path:qualified name``.

    calls: how often it was called. below: the calls of it and of whatever it called.
    edges, edges_below: the same of one caller alone.
    """

    calls: Counter[str] = field(default_factory=Counter)
    below: Counter[str] = field(default_factory=Counter)
    edges: Counter[Edge] = field(default_factory=Counter)
    edges_below: Counter[Edge] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.calls.total()

    def by_phase(self) -> dict[str, int]:
        """Calls of the functions of each phase, by the file that they stand in.

        What the phases share (torch/fx, sympy, the standard library) is ``other``.
        """
        phases = dict.fromkeys(PHASES, 0)
        for name, calls in self.calls.items():
            phases[phase(name)] += calls
        return phases

    def save(self, path: Path) -> None:
        """Writes the table as JSON, packed: functions, then edges by the functions' positions."""
        names = sorted(self.calls)
        position = {name: index for index, name in enumerate(names)}
        functions = [[name, self.calls[name], self.below[name]] for name in names]
        edges = []
        for (caller, callee), calls in sorted(self.edges.items()):
            below = self.edges_below[caller, callee]
            edges.append([position[caller], position[callee], calls, below])
        document = {"schema": SCHEMA, "functions": functions, "edges": edges}
        text = json.dumps(document, separators=(",", ":"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(text.encode()))


class CallCounter:
    """Counts the calls of this thread between ``with`` and the end of its block.

    Since Python 3.12 those of every thread of the process, as if they were this one's.
    """

    def __init__(self) -> None:
        ticks = itertools.count()
        self._profile = cProfile.Profile(ticks.__next__, 1.0, subcalls=True, builtins=False)

    def __enter__(self) -> "CallCounter":
        self._profile.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self._profile.disable()

    def table(self) -> CallTable:
        """Tabulate what was counted; functions of the same name are one."""
        table = CallTable()
        for entry in self._profile.getstats():
            if isinstance(entry.code, str):  # the profile's own disable()
                continue
            caller = function_name(entry.code)
            table.calls[caller] += entry.callcount
            table.below[caller] += _below(entry)
            for callee in entry.calls or ():
                # A call that has not ended has no count: of a thread that still runs, for one
                if callee.callcount and not isinstance(callee.code, str):
                    edge = caller, function_name(callee.code)
                    table.edges[edge] += callee.callcount
                    table.edges_below[edge] += _below(callee)
        return table


def _below(entry: Any) -> int:
    """The calls of a function and below it.

    Between the tick at which a call begins and the one at which it ends there are two of each call
    below it. A call within another of the same function is counted with that.
    """
    outermost = entry.callcount - entry.reccallcount
    return int(entry.totaltime + outermost) // 2


def function_name(code: CodeType) -> str:
    """``path:qualified name`` without this machine's folders, hashes and running numbers."""
    path = portable(_GENERATED.sub("/generated.py", code.co_filename))
    name = getattr(code, "co_qualname", code.co_name)  # since Python 3.11
    if path.startswith("<"):
        path, name = _NUMBERED.sub("", path), _NUMBERED.sub("", name)
    elif path.startswith("/"):
        path = Path(path).name
    return f"{path}:{name}"


def phase(name: str) -> str:
    """The phase of the compiler that a function belongs to."""
    for beginning, phase_name in _PHASES:
        if name.startswith(beginning):
            return phase_name
    return "other"
