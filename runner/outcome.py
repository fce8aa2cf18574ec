"""How a job ended, as seen from outside its process: exit code, signal and result file in, a named
outcome out.
"""

import json
import math
import signal
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from runner.launch import CANNOT_START
from runner.process import Ended

RESULT_LIMIT_BYTES = 32 * 1024**2
REFUSED_JOB_FILE = 2  # the suite's exit code for a job file or a command line that is wrong
KEPT_CHARACTERS = 4000


@dataclass(frozen=True)
class Outcome:
    """The `outcome` of the worker API. status: what was seen from outside; message: why, and what
    to do.
    """

    status: str
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    wall_s: float = 0.0
    log_tail: str = ""


@dataclass(frozen=True)
class ResultFile:
    """What was found where the result file should be: a document, or what is wrong with it."""

    document: dict[str, Any] | None = None
    problem: str = ""


@dataclass(frozen=True)
class Scene:
    """What else is known about the end.

    limit_s: its time limit; words: the suite's last lines; phase: where it was; oom, full_disk:
        evidence, in words.
    """

    limit_s: float
    words: str = ""
    phase: str = ""
    oom: str = ""
    full_disk: str = ""


def read_result(path: Path) -> ResultFile:
    """The result document; a `problem` when there is none, it is too large, or it is no JSON
    object.
    """
    try:
        if path.is_symlink():
            return ResultFile(problem="its result file is a link, and links are not followed")
        size = path.stat().st_size
        if size > RESULT_LIMIT_BYTES:
            return ResultFile(
                problem=f"its result file has {size / 1024**2:.0f} MiB, "
                f"{RESULT_LIMIT_BYTES // 1024**2} are allowed"
            )
        document = json.loads(path.read_bytes(), parse_constant=_finite, parse_float=_finite)
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
    """The number; ValueError for NaN, Infinity and what is too large: neither JSON nor the database
    has them.
    """
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no finite number")
    return number


def judge(ended: Ended, result: ResultFile, scene: Scene, log_tail: str) -> Outcome:
    """The named outcome. A complete result file counts even when its process came to a bad end
    afterwards.
    """
    if ended.stopped_for == "cancelled":
        status, message = "cancelled", "Cancelled while it ran."
    elif result.document is not None:
        status, message = "pass", _remark(ended)
    elif ended.stopped_for == "timeout":
        status, message = (
            "timeout",
            f"It was stopped at its time limit of {scene.limit_s:g} s{_where(scene)}. {ADVICE}",
        )
    elif ended.signal:
        status, message = _killed(ended, scene)
    else:
        status, message = _exited(ended, result, scene)
    message = (scene.full_disk if status != "pass" else "") + message
    return Outcome(
        status, message[:KEPT_CHARACTERS], ended.exit_code, ended.signal, ended.wall_s, log_tail
    )


ADVICE = "Raise the job's timeout_s, lower measure.budget_s, or find out in the log what hangs."


def _remark(ended: Ended) -> str:
    """What is odd about an end that came after a complete result; empty when it was in order."""
    if ended.stopped_for == "timeout":
        return f"It wrote its result but did not end, and was stopped after {ended.wall_s:.0f} s."
    if ended.signal:
        return f"It died of {_name(ended.signal)} after it had written its result."
    return (
        f"It ended with exit code {ended.exit_code} after it had written its result."
        if ended.exit_code
        else ""
    )


def _killed(ended: Ended, scene: Scene) -> tuple[str, str]:
    if ended.signal == signal.SIGKILL and scene.oom:
        memory = f"its peak resident memory was {ended.peak_memory_gb:.2f} GiB"
        advice = "Use a smaller batch or size, or a machine with more memory."
        return (
            "oom",
            f"The kernel killed it for memory{_where(scene)} ({scene.oom}; {memory}). {advice}",
        )
    if ended.signal == signal.SIGKILL:
        return (
            "crashed",
            (
                f"Something other than the worker killed it with SIGKILL{_where(scene)}. It was "
                "not "
                "the kernel for memory."
            ),
        )
    return "crashed", f"It died of {_name(ended.signal)}{_where(scene)}. {_last_words(scene)}"


def _exited(ended: Ended, result: ResultFile, scene: Scene) -> tuple[str, str]:
    if ended.exit_code == REFUSED_JOB_FILE:
        return "fail_to_run", scene.words or "The suite refused the job file and did not say why."
    if ended.exit_code == CANNOT_START:
        return (
            "fail_to_run",
            f"The suite could not be started: {scene.words}. Check SUITE_PYTHON on the worker.",
        )
    return (
        "crashed",
        (
            f"It ended with exit code {ended.exit_code}{_where(scene)}, and {result.problem}. "
            f"{_last_words(scene)}"
        ),
    )


def _where(scene: Scene) -> str:
    return f" in the phase {scene.phase}" if scene.phase else ""


def _last_words(scene: Scene) -> str:
    return f"Its last words: {scene.words}" if scene.words else "It printed nothing."


def _name(number: int | None) -> str:
    """SIGSEGV (Segmentation fault), for 11."""
    try:
        return f"{signal.Signals(number or 0).name} ({signal.strsignal(number or 0)})"
    except ValueError:
        return f"signal {number}"


def body(attempt: int, outcome: Outcome, document: dict[str, Any] | None) -> bytes:
    """The result call's body as JSON. A cancelled job brings no document."""
    kept = None if outcome.status == "cancelled" else document
    return json.dumps(
        {"attempt": attempt, "outcome": asdict(outcome), "result": kept}, allow_nan=False
    ).encode()


def without_result(refused: dict[str, Any], why: str) -> bytes:
    """The body again, as a crash without a document: what is told about a result that the site
    refused.
    """
    outcome = replace(
        Outcome(**refused["outcome"]), status="crashed", message=why[:KEPT_CHARACTERS]
    )
    return body(refused["attempt"], outcome, None)
