"""``batch``: a queue of jobs, one after the other, on a machine that nobody watches and that may
stop at any time.

The list is JSON Lines: one job a line, ordered by value, each the fields of schema/job.v1.json that
differ from their defaults (``benchmark`` and ``config`` at least). Each job runs in a process of
its own (job_process.py). A job that has a result is not run again: the same command after an
interruption continues where it was.

``-`` reads the list from stdin, and answers each line on stdout as soon as its job is done, as one
line of JSON: {"line", "folder", "status", "wall_s"}, status null where the minutes are over;
{"line", "error"} for a line that is wrong. So ``interleave`` feeds two of them, of two torch
builds, in turn.

``--ahead N`` compiles what it can before anything is measured, N cases at a time (precompile.py).
"""

import json
import shutil
import sys
import time
import uuid
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks_suite.commands.job_process import run_job
from benchmarks_suite.commands.precompile import precompile
from benchmarks_suite.harness import (
    contract,
    environment,
    forks,
    job,
    outcome,
    progress,
    report,
    result,
)
from benchmarks_suite.harness.contract import Document

OK, SOMETHING_LEFT, WRONG_INPUT = 0, 1, 2
DESCRIPTION_S = 300  # imports torch
MEASURING = ("compile", "sampling")  # stages that are measurement through and through


@dataclass(frozen=True)
class Queued:
    """One line of the list: the checked job, and the files that it leaves."""

    job: job.Job
    folder: Path

    @property
    def result_file(self) -> Path:
        return self.folder / "result.json"

    @property
    def status(self) -> str | None:
        """The status word of its result; None where there is none yet."""
        if not self.result_file.exists():
            return None
        return str(json.loads(self.result_file.read_text())["status"])


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "list", help="JSON Lines: one job a line, ordered by value; - reads them from stdin"
    )
    parser.add_argument("out", type=Path, help="folder of the results, one folder a job")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="begin no job after this long"
    )
    parser.add_argument(
        "--ahead",
        type=int,
        default=0,
        metavar="N",
        help="first compile the cases that ask for no start, N at a time",
    )


def run(options: Namespace) -> int:
    queue = Queue(time.monotonic() + options.minutes * 60)
    if options.list == "-":
        return _answer_each_line(queue, options.out)
    return _run_list(queue, Path(options.list), options.out, options.ahead)


def _run_list(queue: "Queue", path: Path, out: Path, at_once: int) -> int:
    began = time.monotonic()
    jobs = read(path, out)
    compiled_ahead = out / "ahead"
    if at_once:
        pending = [queued.job for queued in jobs if queued.status is None]
        precompile(pending, compiled_ahead, at_once, queue.deadline)
    for queued in jobs:
        queue.run(queued)
    progress.answer(summary(queue.ran, time.monotonic() - began))
    if not all(queued.status for queued in jobs):
        return SOMETHING_LEFT
    shutil.rmtree(compiled_ahead, ignore_errors=True)
    return OK


def _answer_each_line(queue: "Queue", out: Path) -> int:
    worst = OK
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            queued = _parsed(line, number, "stdin", out)
        except job.JobError as error:
            answer: Document = {"line": number, "error": str(error)}
            worst = max(worst, WRONG_INPUT)
        else:
            began = time.monotonic()
            queue.run(queued)
            wall_s = round(time.monotonic() - began, 1)
            status = queued.status
            answer = {
                "line": number,
                "folder": queued.folder.name,
                "status": status,
                "wall_s": wall_s,
            }
            worst = max(worst, OK if status else SOMETHING_LEFT)
        progress.answer(json.dumps(answer))
    return worst


def read(path: Path, out: Path) -> list[Queued]:
    """The jobs of the list, in its order. Raises JobError naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise job.JobError(f"cannot read the list {path}: {error.strerror}") from error
    queue = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            queue.append(_parsed(line, number, str(path), out))
    return queue


def _parsed(line: str, number: int, source: str, out: Path) -> Queued:
    try:
        document = contract.read_json(line)
        # The same line is the same job, so that a list can be run again, or with lines added.
        job_id = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([number, document], sort_keys=True)))
        parsed = job.parse({"schema": "job.v1", "job_id": job_id, "attempt": 1, **document})
    except (ValueError, TypeError) as error:
        raise job.JobError(f"{source}, line {number}: {error}") from error
    return Queued(parsed, out / f"{number:03d}-{parsed.benchmark.name}-{parsed.config.name}")


class Queue:
    """Runs jobs that have no result yet, until ``deadline`` (time.monotonic()).

    ran: those that it ran, and that left a result.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.ran = list[Queued]()

    def run(self, queued: Queued) -> None:
        began = time.monotonic()
        left_s = self.deadline - began
        if queued.result_file.exists() or left_s <= 0:
            return
        queued.folder.mkdir(parents=True, exist_ok=True)
        (queued.folder / "job.json").write_text(json.dumps(queued.job.document, indent=1))
        failure = run_job(queued.job, queued.folder, min(queued.job.timeout_s, left_s))
        if failure is not None and not queued.result_file.exists():
            if failure.status == "timeout" and left_s < queued.job.timeout_s:
                progress.note(f"stopped, the minutes are over: {queued.folder.name}")
                return
            # In a process of its own: describing the machine touches the GPU, and this process must
            # not hold it.
            write = partial(_write_failure, queued, failure)
            with suppress(TimeoutError):  # the device hangs; the next job may find it well again
                forks.run(write, DESCRIPTION_S)
        status = queued.status
        if status is not None:
            self.ran.append(queued)
        took_s = time.monotonic() - began
        progress.note(f"{took_s:6.1f} s  {status or 'no result':<16} {queued.folder.name}")


def _write_failure(queued: Queued, failure: outcome.CaseOutcome) -> None:
    failed_result = result.Result(queued.job)
    failed_result.stage = progress.last_stage(queued.folder / "log.txt") or failed_result.stage
    failed_result.failed(failure)
    failed_result.environment = environment.describe(queued.job)
    report.conclude(queued.job, failed_result)
    result.write(failed_result.document(), queued.result_file)


def summary(ran: Sequence[Queued], wall_s: float) -> str:
    """Summarize the jobs by status, and the share of the wall time that was measurement: compile,
    warm-up and samples.
    """
    documents = [json.loads(queued.result_file.read_text()) for queued in ran]
    statuses = Counter(document["status"] for document in documents)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    lines = [f"{len(ran)} jobs in {wall_s / 60:.1f} min: {counts or 'nothing to do'}"]
    if not documents:
        return lines[0]
    measured_s = sum(map(measurement_s, documents))
    share = f"{measured_s:.0f} s, {measured_s / wall_s:.0%} of the wall time"
    lines.append(f"compile, warm-up and samples: {share}")
    stages = Counter[str]()
    for document in documents:
        stages.update(document["wall_s"])
    lines += [f"  {seconds:8.1f} s  {name}" for name, seconds in stages.most_common()]
    return "\n".join(lines)


def measurement_s(document: Document) -> float:
    """Seconds of a job that were compile, warm-up or samples: two stages, and the steps of each
    start of its own.
    """
    seconds = sum(document["wall_s"].get(stage, 0.0) for stage in MEASURING)
    for kind, start in document.get("starts", {}).items():
        if kind != "ahead":
            seconds += sum(start.get("steps_ms", ())) / 1000
    return float(seconds)
