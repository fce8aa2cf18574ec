"""Surroundings of a compiled step's graphs: the cost of calling them, what runs outside of them.

The last pass of a job, because it changes torch for its duration: each graph that a backend
returned, and the beginning of each call of a compiled function, is marked in a profile of the
host (torch.profiler). Between two marks lies what dynamo does in a call::

    call begins ─ wrapper ─ cache look-up, guards ─ bytecode before the graph ─ graph ─ …
                └───────────────────── overhead ──────────────────────────────┘

The first part is there for a call from eager code alone. What follows a graph break is looked up by
itself, from within its caller's code: its overhead begins with torch's own event of the look-up.
The profiler's own share is some 0.3 µs for each mark.
"""

import contextlib
import json
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from benchmarks_suite.harness import ranks, torch_versions
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.job import Job
from benchmarks_suite.workload import Inputs

STEPS = 50  # most that are profiled
# Of the steps, this share again comes before them: a profiler's first steps are slow, and new
# globals end shortcuts that guards take through dicts that did not change
WARM_UP_SHARE = 0.2
SINCE = (2, 5)  # the first release in which each call begins with set_eval_frame(None)
_GRAPHS = "__compiled_fn_"  # dynamo's global variables for what a backend returned
_LOOKUP = "TorchDynamo Cache Lookup"  # torch's own name of the event
_STEP, _CALL, _GRAPH = "compilewatch: step", "compilewatch: call", "compilewatch: graph"


class NotObserved(Exception):
    """Failure to observe what surrounds the graphs; the text says why."""


@dataclass(frozen=True)
class Event:
    """Event of the thread that runs the steps; times in microseconds since any moment."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class StepCalls:
    """Calls of compiled code in one step.

    overhead_us, lookup_us: of all its calls, the look-ups being part of the overhead.
    lookups, graphs: how many there were.
    """

    overhead_us: float
    lookup_us: float
    lookups: int
    graphs: int


def check(job: Job) -> None:
    """Raises NotObserved where there is nothing to observe."""
    if not job.config.compiles:
        raise NotObserved("nothing is compiled")
    if job.config.target == "aot_inductor":
        raise NotObserved("an exported package has no guards, and dynamo does not call it")
    if torch_versions.release() < SINCE:
        raise NotObserved(f"needs torch {SINCE[0]}.{SINCE[1]} or newer")


def of_steps(arm: Arm, batches: Sequence[Inputs], count: int) -> list[StepCalls]:
    """Measure what calling compiled code costs in each of ``count`` steps. Raises NotObserved."""
    warm_up = math.ceil(WARM_UP_SHARE * count)
    steps = [partial(arm.step, batch) for batch in islice(cycle(batches), warm_up + count)]
    compiled_before = _frames_compiled()
    with _reasons(), _marks():
        events = _profiled(steps)
    if _frames_compiled() != compiled_before:
        raise NotObserved("something compiled again while its calls were observed")
    calls = by_step(events)[warm_up:]
    if not any(each.graphs for each in calls):
        raise NotObserved("the step calls no compiled graph")
    if not any(event.name == _CALL for event in events):
        raise NotObserved("this torch does not show where a call begins")
    return calls


def operators(
    job: Job, eager: Arm | None, compiled: Arm, batches: Sequence[Inputs]
) -> tuple[Counter[str], Counter[str]]:
    """Count the operators of a forward pass over the batches, by name, without those within another
    one: all of the eager arm's, and the compiled arm's outside of graphs. Raises NotObserved.
    """
    if ranks.spans_processes(job):
        raise NotObserved("of several processes, a forward pass by itself may wait for the others")
    if eager is None:
        raise NotObserved("there is no eager arm")
    if eager.forward is None or compiled.forward is None:
        raise NotObserved("the whole step is one function: its forward pass cannot be seen apart")
    counts = []
    for forward in (eager.forward, compiled.forward):
        with _reasons(), _marks():
            counts.append(
                outermost_operators(_profiled([partial(forward, batch) for batch in batches]))
            )
    return counts[0], counts[1]


@contextlib.contextmanager
def _reasons() -> Iterator[None]:
    """Marks that a release, a backend or a driver does not bear are no reason to lose the case."""
    try:
        yield
    except Exception as error:
        raise NotObserved(f"calls cannot be observed: {type(error).__name__}: {error}") from error


def by_step(events: Iterable[Event]) -> list[StepCalls]:
    """Compute what each step's calls cost. events: by start; of equal ones the longest first."""
    steps: list[list[Event]] = []
    for event in events:
        if event.name == _STEP:
            steps.append([])
        elif steps:
            steps[-1].append(event)
    return [_calls_of(step) for step in steps]


def _calls_of(events: Iterable[Event]) -> StepCalls:
    overhead_us = lookup_us = 0.0
    lookups = graphs = 0
    began: float | None = None
    last_call: float | None = None  # a mark that nothing has followed yet
    for event in _outermost(events):
        if event.name == _CALL:
            last_call = event.start
            continue
        if event.name == _LOOKUP:
            lookups += 1
            lookup_us += event.end - event.start
            if began is None:
                began = event.start if last_call is None else last_call
        else:
            graphs += event.name == _GRAPH
            if began is not None:
                overhead_us += event.start - began
            began = None
        last_call = None
    return StepCalls(overhead_us, lookup_us, lookups, graphs)


def outermost_operators(events: Iterable[Event]) -> Counter[str]:
    """Operators by name, without what runs within another operator or in a graph."""
    return Counter(event.name for event in _outermost(events) if _is_operator(event.name))


def _outermost(events: Iterable[Event]) -> Iterator[Event]:
    """Marks, look-ups, graphs and operators that lie in no other of them."""
    end = float("-inf")
    for event in events:
        if event.start < end:
            continue
        if event.name in (_CALL, _LOOKUP, _GRAPH) or _is_operator(event.name):
            end = event.end
            yield event


def _is_operator(name: str) -> bool:
    """Test for an operator's ``namespace::name`` that is not one of autograd's own events."""
    namespace, separator, _ = name.partition("::")
    return bool(separator) and namespace.isidentifier() and namespace not in ("autograd", "torch")


def _frames_compiled() -> float:
    return torch_versions.counters().get("frames.total", 0.0)


def _profiled(steps: Sequence[Callable[[], Any]]) -> list[Event]:
    step_mark = _mark(_STEP)
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profiler:
        for step in steps:
            with step_mark:
                step()
    with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        entries = json.loads(trace.read_bytes())["traceEvents"]
    timed = [entry for entry in entries if entry.get("ph") == "X"]
    threads = {entry["tid"] for entry in timed if entry["name"] == _STEP}
    events = []
    for entry in timed:
        if entry["tid"] in threads:
            start = float(entry["ts"])
            events.append(Event(entry["name"], start, start + float(entry["dur"])))
    return sorted(events, key=lambda event: (event.start, -event.end))


@contextlib.contextmanager
def _marks() -> Iterator[None]:
    """Marks the beginning of calls, and the graphs, until the block ends."""
    from torch._dynamo import eval_frame

    dynamo: Any = eval_frame
    set_eval_frame, call_mark = dynamo.set_eval_frame, _mark(_CALL)

    def set_and_mark(callback: Any) -> Any:
        # A call begins by switching dynamo off
        if callback is None:
            with call_mark:
                pass
        return set_eval_frame(callback)

    dynamo.skip_code(set_and_mark.__code__)  # code within a call uses it, too, with dynamo on
    graphs = list(_graphs())
    try:
        for variables, name, graph in graphs:
            variables[name] = _marked(graph, dynamo.skip_code)
        dynamo.set_eval_frame = set_and_mark
        yield
    finally:
        dynamo.set_eval_frame = set_eval_frame
        for variables, name, graph in graphs:
            variables[name] = graph


def _graphs() -> Iterator[tuple[dict[str, Any], str, Any]]:
    """(the variables of a module, name, graph) of everything that a backend returned."""
    for module in list(sys.modules.values()):
        variables = getattr(module, "__dict__", {})
        for name in list(variables):
            if name.startswith(_GRAPHS):
                yield variables, name, variables[name]


def _marked(graph: Callable[..., Any], skip_code: Callable[[Any], None]) -> Callable[..., Any]:
    mark = _mark(_GRAPH)

    def call(*arguments: Any) -> Any:
        with mark:
            return graph(*arguments)

    skip_code(call.__code__)  # dynamo is on where a graph is called, and would trace this
    return call


def _mark(name: str) -> Any:
    return torch._C._profiler._RecordFunctionFast(name)
