"""The Python calls of two jobs' compilations, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.language.contracts import Refused
from dashboard.models import Artifact, Job
from dashboard.results.core import compile_diff, compile_flame
from dashboard.results.core.compile_diff import CallChange, CallTable
from dashboard.results.core.known_changes import in_calls
from dashboard.results.selectors.generated_code import archive_bytes

NOT_KEPT = "One side has no counted start. Measure it again, with `counted` in `measure.starts`."


@dataclass(frozen=True, slots=True)
class TwoTables:
    """The calls of the first job and of the second. problem: why they cannot be shown."""

    old: CallTable | None = None
    new: CallTable | None = None
    problem: str = ""


def of_jobs(pair: Sequence[Job], kept: Sequence[Artifact], function: str) -> dict[str, Any]:
    """The calls of two jobs as a page shows them. kept: their tables of calls.

    function: where the flame graph begins; empty, or unknown on both sides: at its roots.
    """
    first, second = pair
    tables = _tables(kept)
    context: dict[str, Any] = {"first": first, "second": second, "problem": tables.problem}
    if tables.old is None or tables.new is None:
        return context
    old, new = tables.old, tables.new
    at = function if function in old.calls or function in new.calls else ""
    frames = compile_flame.frames(old, new, at)
    context |= {
        "at": at,
        "total": CallChange("", old.calls.total(), new.calls.total()),
        "known_changes": in_calls(first.run.build.version, old, second.run.build.version, new),
        "phases": _phases(first, second),
        "sites": compile_diff.call_sites(old, new),
        "functions": compile_diff.function_changes(old, new),
        "frames": frames,
        "width": compile_flame.WIDTH,
        "row": compile_flame.ROW,
        "height": max((frame.y for frame in frames), default=0) + compile_flame.ROW,
    }
    if at:
        context |= {
            "of_function": CallChange(at, old.calls[at], new.calls[at]),
            "neighbours": {
                "Called by": compile_diff.caller_changes(old, new, at)[:20],
                "Calls": compile_diff.callee_changes(old, new, at)[:20],
            },
        }
    return context


def _tables(kept: Sequence[Artifact]) -> TwoTables:
    try:
        old, new = (compile_diff.read_calls(archive_bytes(artifact)) for artifact in kept)
    except (Refused, OSError) as error:
        return TwoTables(problem=str(error))
    return TwoTables(old, new)


def _phases(first: Job, second: Job) -> list[CallChange]:
    """Calls of each phase of the compiler, as the results have them."""
    before, after = _calls_by_phase(first), _calls_by_phase(second)
    return [CallChange(name, before[name], after[name]) for name in before if name in after]


def _calls_by_phase(job: Job) -> Mapping[str, int]:
    result = getattr(job, "result", None)
    document: Mapping[str, Any] = result.document if result else {}
    phases: Mapping[str, int] = (
        document.get("starts", {}).get("counted", {}).get("calls_by_phase", {})
    )
    return phases
