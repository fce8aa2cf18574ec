"""``interleave``: a list of jobs in several torch builds on one device, in turn: A B A B, each job in its own process.

What drifts over minutes, a GPU's temperature or a neighbour, then meets all builds alike. The list is as for ``batch``;
a line that stands there twice is measured twice. Each build has its own interpreter, which serves ``batch -``, and its
own folder of results, OUT/LABEL; the same command after an interruption goes on where it was.
"""

import json
import subprocess
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, progress

OK, SOMETHING_LEFT, WRONG_INPUT = 0, 1, 2


@dataclass(frozen=True)
class Build:
    """label: names its folder of results. python: an interpreter that has this torch."""

    label: str
    python: str


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("list", type=Path, help="JSON Lines: one job a line, ordered by value")
    parser.add_argument("out", type=Path, help="folder of the results, one folder a build")
    parser.add_argument(
        "--build", dest="builds", metavar="LABEL=PYTHON", type=_build, action="append", required=True,
        help="a torch build and an interpreter that has it; once for each, in the order of the turns",
    )  # fmt: skip
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after this long")


def run(options: Namespace) -> int:
    try:
        lines = [line for line in options.list.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        progress.note(f"benchmarks_suite: cannot read the list {options.list}: {error.strerror}")
        return WRONG_INPUT
    with ExitStack() as ended:
        batches = [ended.enter_context(Batch(build, options.out, options.minutes)) for build in options.builds]
        return max((batch.exit_code(line) for line in lines for batch in batches), default=OK)


class Batch:
    """``batch -`` in the interpreter of one build; it ends with the ``with`` block."""

    def __init__(self, build: Build, out: Path, minutes: float) -> None:
        self._label = build.label
        folder = out / build.label
        folder.mkdir(parents=True, exist_ok=True)
        command = [build.python, "-m", "benchmarks_suite", "batch", "-", str(folder), "--minutes", str(minutes)]
        self._process = subprocess.Popen(
            command, env=caches.child_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):  # it is gone already
            self._process.communicate()  # it ends when its list does

    def exit_code(self, line: str) -> int:
        """Measures one line, or finds that it has been; says how it ended where that is not yet known."""
        answer = self._answer(line)
        if "error" in answer:
            progress.note(f"benchmarks_suite: {self._label}: {answer['error']}")
            return WRONG_INPUT
        return OK if answer["status"] else SOMETHING_LEFT

    def _answer(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        said = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            said = self._process.stdout.readline()
        if not said:
            return {"error": f"its interpreter ended with exit code {self._process.wait()}; its last words are above"}
        found: dict[str, Any] = json.loads(said)
        return found


def _build(text: str) -> Build:
    label, _, python = text.partition("=")
    if not (label and python) or "/" in label:
        raise ArgumentTypeError(f"{text!r} is not LABEL=PYTHON, such as 2.13.0=/opt/torch213/bin/python")
    return Build(label, python)
