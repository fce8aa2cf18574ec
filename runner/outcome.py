"""End of a job, as seen from outside its process.

Exit code, signal and result file in, a named outcome out.
"""

import json
import math
import signal
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from runner.launcher import CANNOT_START
from runner.process import ProcessExit
from runner.suite_files import read_suite_file

REFUSED_JOB_FILE = 2  # the suite's exit code for a job file or a command line that is wrong
MESSAGE_CHARACTERS = 4000
TIMEOUT_ADVICE = (
    "Raise the time limit of the machine's jobs in the admin, lower measure.budget_s, or find out "
    "in the log what hangs."
)


@dataclass(frozen=True)
class JobOutcome:
    """The `outcome` of the worker API.

    status: what was seen from outside; message: why, and what to do.
    """

    status: str
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    wall_s: float = 0.0
    log_tail: str = ""


@dataclass(frozen=True)
class ResultFile:
    """Content of the result file: a document, or what is wrong with it."""

    document: dict[str, Any] | None = None
    problem: str = ""


@dataclass(frozen=True)
class ProcessContext:
    """The circumstances of a process's end.

    limit_s: its time limit; last_words: the suite's last lines; phase: where it was; oom,
    full_disk: evidence, as text.
    """

    limit_s: float
    last_words: str = ""
    phase: str = ""
    oom: str = ""
    full_disk: str = ""


def read_result(path: Path) -> ResultFile:
    """The result document; a `problem` when it cannot be read or is not a JSON object."""
    try:
        document = json.loads(read_suite_file(path), parse_constant=_finite, parse_float=_finite)
    except FileNotFoundError:
        return ResultFile(problem="it wrote no result file")
    except (OSError, ValueError, RecursionError) as error:
        return ResultFile(problem=f"its result file cannot be read: {error}")
    if not isinstance(document, dict):
        return ResultFile(
            problem=f"its result file holds a JSON {type(document).__name__}, not an object"
        )
    return ResultFile(document)


def _finite(text: str) -> float:
    """The number; ValueError for NaN, Infinity and what is too large.

    Neither JSON nor the database has them.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def classify_outcome(
    end: ProcessExit, result: ResultFile, context: ProcessContext, log_tail: str
) -> JobOutcome:
    """The named outcome. A complete result counts even when its process ended badly afterwards."""
    status, message = _status_and_message(end, result, context)
    if status != "pass":
        message = context.full_disk + message
    return JobOutcome(
        status, message[:MESSAGE_CHARACTERS], end.exit_code, end.signal, end.wall_s, log_tail
    )


def _status_and_message(
    end: ProcessExit, result: ResultFile, context: ProcessContext
) -> tuple[str, str]:
    if end.stopped_for == "cancelled":
        return "cancelled", "Cancelled while it ran."
    if result.document is not None:
        return "pass", _remark(end)
    if end.stopped_for == "timeout":
        message = f"It was stopped at its time limit of {context.limit_s:g} s{_where(context)}."
        return "timeout", f"{message} {TIMEOUT_ADVICE}"
    if end.signal:
        return _killed(end, context)
    return _exited(end, result, context)


def _remark(end: ProcessExit) -> str:
    """Describe an odd end that came after a complete result; empty when it was in order."""
    if end.stopped_for == "timeout":
        return f"It wrote its result but did not end, and was stopped after {end.wall_s:.0f} s."
    if end.signal:
        return f"It died of {_signal_name(end.signal)} after it had written its result."
    if end.exit_code:
        return f"It ended with exit code {end.exit_code} after it had written its result."
    return ""


def _killed(end: ProcessExit, context: ProcessContext) -> tuple[str, str]:
    where = _where(context)
    if end.signal != signal.SIGKILL:
        words = _last_words(context)
        return "crashed", f"It died of {_signal_name(end.signal)}{where}. {words}"
    if context.oom:
        memory = f"its peak resident memory was {end.peak_memory_gb:.2f} GiB"
        advice = "Use a smaller batch or size, or a machine with more memory."
        return "oom", f"The kernel killed it for memory{where} ({context.oom}; {memory}). {advice}"
    return (
        "crashed",
        f"Something other than the worker killed it with SIGKILL{where}. The kernel's counts of "
        "kills for memory, as far as the worker can read them, did not rise.",
    )


def _exited(end: ProcessExit, result: ResultFile, context: ProcessContext) -> tuple[str, str]:
    words = context.last_words
    if end.exit_code == REFUSED_JOB_FILE:
        return "fail_to_run", words or "The suite refused the job file and did not say why."
    if end.exit_code == CANNOT_START:
        advice = "Check SUITE_PYTHON on the worker."
        return "fail_to_run", f"The suite could not be started: {words}. {advice}"
    ended = f"It ended with exit code {end.exit_code}{_where(context)}, and {result.problem}."
    return "crashed", f"{ended} {_last_words(context)}"


def _where(context: ProcessContext) -> str:
    return f" in the phase {context.phase}" if context.phase else ""


def _last_words(context: ProcessContext) -> str:
    if not context.last_words:
        return "It printed nothing."
    return f"Its last words: {context.last_words}"


def _signal_name(number: int | None) -> str:
    """SIGSEGV (Segmentation fault), for 11."""
    try:
        return f"{signal.Signals(number or 0).name} ({signal.strsignal(number or 0)})"
    except ValueError:
        return f"signal {number}"


def result_body(attempt: int, outcome: JobOutcome, document: dict[str, Any] | None) -> bytes:
    """The result call's body as JSON. A cancelled job has no document."""
    if outcome.status == "cancelled":
        document = None
    body = {"attempt": attempt, "outcome": asdict(outcome), "result": document}
    return json.dumps(body, allow_nan=False).encode()


def body_without_result(body: dict[str, Any], why: str) -> bytes:
    """The same outcome as a crash without a document: for a result that the site refused."""
    outcome = JobOutcome(**body["outcome"])
    crashed = replace(outcome, status="crashed", message=why[:MESSAGE_CHARACTERS])
    return result_body(body["attempt"], crashed, None)
