"""The FX graphs in a structured trace of torch.compile, and how those of two builds differ. Pure.

torch writes a trace where TORCH_TRACE says (torch/_logging/_internal.py: trace_structured). An
entry is a line, `V1124 22:40:01.123456 PID FILE:LINE] {JSON}`, and its payload the lines after it
that begin with a tab. What it is about is a key of its JSON; an `artifact` has it as its name.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dashboard.results.core.code_diff import FileDiff, file_diffs, normalized

TRACE, LOG = "structured-trace.tar.xz", "compiler-log.txt.xz"
MOST_BYTES = 80 * 2**20  # unpacked, of one job: somewhat more than the suite keeps
GRAPHS = (  # in the order of a compilation; some releases lack some
    "dynamo_output_graph",
    "optimize_ddp_split_graph",
    "compiled_autograd_graph",
    "before_pre_grad_graph",
    "after_pre_grad_graph",
    "before_joint_graph",
    "after_joint_graph",
    "aot_joint_graph",
    "aot_forward_graph",
    "aot_backward_graph",
    "aot_inference_graph",
    "before_post_grad_graph",
    "inductor_post_grad_graph",
    "after_post_grad_graph",
)
RUNNABLE = "fx_graph_runnable"  # a script that runs the graph which Inductor was given
_ENTRY = re.compile(r"[VIWEC]\d{4} [^\]]*\] (\{.*\})$")
_IDS = ("frame_id", "frame_compile_id", "attempt")


@dataclass(frozen=True, slots=True)
class Payload:
    """Payload of an entry. compile_id: frame, compilation of it and attempt, as torch says it."""

    kind: str
    compile_id: str
    text: str


def payloads(trace: str, kinds: Iterable[str] = (*GRAPHS, RUNNABLE)) -> Iterator[Payload]:
    """The payloads of these kinds, in the order of the trace; what cannot be read is left out."""
    kinds = frozenset(kinds)
    head: tuple[str, str] | None = None
    lines: list[str] = []
    # Not splitlines: source code in a payload may have a form feed, which does not end a line
    for line in trace.split("\n"):
        if line.startswith("\t"):
            if head:
                lines.append(line[1:])
            continue
        if head:
            yield Payload(*head, "\n".join(lines))
        head, lines = _head(line, kinds), []
    if head:
        yield Payload(*head, "\n".join(lines))


def _head(line: str, kinds: frozenset[str]) -> tuple[str, str] | None:
    """Kind and compile id of an entry that has a payload of these kinds; None for any other."""
    if '"has_payload"' not in line:
        return None
    matched = _ENTRY.match(line)
    try:
        entry = json.loads(matched[1]) if matched else {}
    except (ValueError, RecursionError):
        return None
    kind = _kind(entry)
    if kind not in kinds:
        return None
    return kind, "_".join(str(_number(entry.get(key))) for key in _IDS)


def _number(value: Any) -> int:
    """A part of an id; it becomes part of a file's name, so that nothing but a number may."""
    return value if isinstance(value, int) else 0


def _kind(entry: dict[str, Any]) -> str:
    artifact = entry.get("artifact")
    if isinstance(artifact, dict):
        return str(artifact.get("name"))
    return next((name for name in GRAPHS if name in entry), "")


def graph_files(traces: Iterable[str]) -> dict[str, str]:
    """File name -> text of every graph: `aot_forward_graph/0_0_0.txt`.

    A second graph of one compilation has a number after its name.
    """
    files: dict[str, str] = {}
    times: Counter[str] = Counter()
    for trace in traces:
        for payload in payloads(trace):
            suffix = "py" if payload.kind == RUNNABLE else "txt"
            name = f"{payload.kind}/{payload.compile_id}"
            times[name] += 1
            number = f"-{times[name]}" if times[name] > 1 else ""
            files[f"{name}{number}.{suffix}"] = payload.text
    return files


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """Differences between the graphs of two builds, without comments, paths and addresses.

    compared: how many graphs of a kind that both builds wrote, on either side.
    one_sided: kinds that only one of them wrote: its release does, or it compiled nothing such.
    """

    files: list[FileDiff]
    compared: tuple[int, int]
    one_sided: list[str]


def graph_diff(base: dict[str, str], new: dict[str, str]) -> GraphDiff:
    """Compare two `graph_files`, leaving out the runnable scripts, which have the same graphs."""
    before, after = _by_kind(base), _by_kind(new)
    both = before.keys() & after.keys()
    sides = []
    for graphs in (before, after):
        texts = {}
        for kind in both:
            texts.update(graphs[kind])
        sides.append(texts)
    files = file_diffs(*sides)
    in_order = sorted(files, key=lambda diff: GRAPHS.index(diff.kind))
    one_sided = [kind for kind in GRAPHS if kind in before.keys() ^ after.keys()]
    return GraphDiff(in_order, (len(sides[0]), len(sides[1])), one_sided)


def _by_kind(files: dict[str, str]) -> dict[str, dict[str, str]]:
    kinds: dict[str, dict[str, str]] = {}
    for name, text in files.items():
        kind = name.partition("/")[0]
        if kind != RUNNABLE:
            kinds.setdefault(kind, {})[name] = normalized(text)
    return kinds
