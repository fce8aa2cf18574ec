"""``interleave``: a list of jobs in several torch builds on one device, in turn: A B A B.

What drifts over minutes, a GPU's temperature or a neighbour, then affects all builds alike. The
list is as for ``batch``, each job in its own process; a line that stands there twice is measured
twice. A build may be a variant: an interpreter with environment variables or Inductor settings that
go into each of its jobs. Each build has its own interpreter, which serves ``batch -``, and its own
folder of results, OUT/LABEL; the same command after an interruption continues where it was.
"""

import json
import subprocess
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks_suite.harness import caches, progress
from benchmarks_suite.harness.contract import Document, WrongInput

OK, SOMETHING_LEFT, WRONG_INPUT = 0, 1, 2


@dataclass(frozen=True)
class Build:
    """One of the builds that take turns.

    label: names its folder of results.
    python: an interpreter that has this torch.
    variant: as in a job file.
    """

    label: str
    python: str
    variant: Document = field(default_factory=dict)

    def job(self, line: str) -> str:
        """A line of the list as this build measures it."""
        if not self.variant:
            return line
        return json.dumps({**json.loads(line), "variant": self.variant})


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("list", type=Path, help="JSON Lines: one job a line, ordered by value")
    parser.add_argument("out", type=Path, help="folder of the results, one folder a build")
    parser.add_argument(
        "--build",
        dest="builds",
        metavar="LABEL=PYTHON",
        type=_build,
        action="append",
        required=True,
        help="a torch build and an interpreter that has it; once for each, in the order of the "
        "turns",
    )
    parser.add_argument(
        "--variant",
        dest="variants",
        metavar="LABEL=JSON",
        type=_variant,
        action="append",
        default=[],
        help='what the build of this label sets: LABEL={"inductor": {"epilogue_fusion": false}} '
        'or {"env": {…}}',
    )
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no job after this long"
    )


def run(options: Namespace) -> int:
    try:
        text = options.list.read_text(encoding="utf-8")
    except OSError as error:
        raise WrongInput(f"cannot read the list {options.list}: {error.strerror}") from error
    variants = dict(options.variants)
    if unknown := variants.keys() - {build.label for build in options.builds}:
        raise WrongInput(f"--variant {min(unknown)}: no --build has this label")
    builds = [replace(build, variant=variants.get(build.label, {})) for build in options.builds]
    worst = OK
    with ExitStack() as stack:
        batches = list[Batch]()
        for build in builds:
            batches.append(stack.enter_context(Batch(build, options.out, options.minutes)))
        for line in filter(str.strip, text.splitlines()):
            for batch in batches:
                worst = max(worst, batch.exit_code(line))
    return worst


class Batch:
    """``batch -`` in the interpreter of one build; it ends with the ``with`` block."""

    def __init__(self, build: Build, out: Path, minutes: float) -> None:
        self._build = build
        folder = out / build.label
        folder.mkdir(parents=True, exist_ok=True)
        batch = ["-m", "benchmarks_suite", "batch", "-", str(folder), "--minutes", str(minutes)]
        self._process = subprocess.Popen(
            [build.python, *batch],
            env=caches.child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):  # it is gone already
            self._process.communicate()  # it ends when its list does

    def exit_code(self, line: str) -> int:
        """Measures one line, unless it has its result; reports what is wrong with it."""
        try:
            answer = self._answer(self._build.job(line))
        except (ValueError, TypeError) as error:
            answer = {"error": f"{line} is not a JSON object: {error}"}
        if "error" in answer:
            progress.note(f"benchmarks_suite: {self._build.label}: {answer['error']}")
            return WRONG_INPUT
        return OK if answer["status"] else SOMETHING_LEFT

    def _answer(self, line: str) -> Document:
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        reply = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        if not reply:
            code = self._process.wait()
            return {
                "error": f"its interpreter ended with exit code {code}; its last words are above"
            }
        answer: Document = json.loads(reply)
        return answer


def _build(text: str) -> Build:
    label, _, python = text.partition("=")
    if not (label and python) or "/" in label:
        raise ArgumentTypeError(
            f"{text!r} is not LABEL=PYTHON, such as 2.13.0=/opt/torch213/bin/python"
        )
    return Build(label, python)


def _variant(text: str) -> tuple[str, Document]:
    label, _, value = text.partition("=")
    try:
        variant = json.loads(value)
    except ValueError:
        variant = None
    if not isinstance(variant, dict):
        raise ArgumentTypeError(
            f'{text!r} is not LABEL=JSON, such as \'slow={{"inductor": {{"max_fusion_size": 1}}}}\''
        )
    return label, variant
