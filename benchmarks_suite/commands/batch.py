"""``batch``: a queue of jobs, one after the other, on a machine that nobody watches and that may
stop at any time.

The list is JSON Lines: one job a line, ordered by value, each the fields of schema/job.v1.json that
differ from their defaults (``benchmark`` and ``config`` at least). Each job runs in a process of
its own (job_processes.py). A job whose result is there is not run again: the same command after an
interruption goes on where it was.

``-`` reads the list from stdin, and answers each line on stdout as soon as its job is done, as one
    line of JSON:
{"line", "folder", "status", "wall_s"}, status null where the minutes are over; {"line", "error"}
for a line that is wrong. So ``interleave`` feeds two of them, of two torch builds, in turn.

``--ahead N`` compiles what it can before anything is measured, N cases at a time (ahead.py).
"""

import json
import shutil
import sys
import time
import uuid
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks_suite.commands.ahead import compile_ahead
from benchmarks_suite.commands.job_processes import JobProcesses
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
        return (
            json.loads(self.result_file.read_text())["status"]
            if self.result_file.exists()
            else None
        )


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
    began = time.monotonic()
    queue = Queue(JobProcesses(options.out / "preloaded.log"), began + options.minutes * 60)
    try:
        if options.list == "-":
            return _answer_each_line(queue, options.out)
        return _run_list(queue, Path(options.list), options.out, options.ahead)
    except job.JobError as error:
        progress.note(f"benchmarks_suite: {error}")
        return WRONG_INPUT
    finally:
        queue.processes.close()


def _run_list(queue: "Queue", path: Path, out: Path, at_once: int) -> int:
    began = time.monotonic()
    jobs, ahead = read(path, out), out / "ahead"
    if at_once:
        compile_ahead(
            [queued.job for queued in jobs if queued.status is None], ahead, at_once, queue.deadline
        )
    for queued in jobs:
        queue.run(queued)
    print(summary(queue.ran, time.monotonic() - began))  # noqa: T201 - the answer to whoever comes back
    if not all(queued.status for queued in jobs):
        return SOMETHING_LEFT
    shutil.rmtree(ahead, ignore_errors=True)
    return OK


def _answer_each_line(queue: "Queue", out: Path) -> int:
    worst = OK
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            queued = _parsed(line, number, "stdin", out)
        except job.JobError as error:
            answer: dict[str, Any] = {"line": number, "error": str(error)}
        else:
            began = time.monotonic()
            queue.run(queued)
            wall_s = round(time.monotonic() - began, 1)
            answer = {
                "line": number,
                "folder": queued.folder.name,
                "status": queued.status,
                "wall_s": wall_s,
            }
        worst = max(
            worst, WRONG_INPUT if "error" in answer else OK if answer["status"] else SOMETHING_LEFT
        )
        print(json.dumps(answer), flush=True)  # noqa: T201 - the answer to the driver
    return worst


def read(path: Path, out: Path) -> list[Queued]:
    """The jobs of the list, in its order. Raises JobError naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise job.JobError(f"cannot read the list {path}: {error.strerror}") from error
    return [
        _parsed(line, number, str(path), out)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def _parsed(line: str, number: int, source: str, out: Path) -> Queued:
    try:
        document = contract.read_json(line)
        # The same line is the same job, so that a list can be run again, or with lines added.
        job_id = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([number, document], sort_keys=True)))
        found = job.parse({"schema": "job.v1", "job_id": job_id, "attempt": 1, **document})
    except (ValueError, TypeError) as error:
        raise job.JobError(f"{source}, line {number}: {error}") from error
    return Queued(found, out / f"{number:03d}-{found.benchmark.name}-{found.config.name}")


class Queue:
    """Runs jobs that have no result yet, until ``deadline`` (time.monotonic()). ran: those that it
    ran.
    """

    def __init__(self, processes: JobProcesses, deadline: float) -> None:
        self.processes, self.deadline, self.ran = processes, deadline, list[Queued]()

    def run(self, queued: Queued) -> None:
        left_s = self.deadline - time.monotonic()
        if queued.result_file.exists() or left_s <= 0:
            return
        queued.folder.mkdir(parents=True, exist_ok=True)
        (queued.folder / "job.json").write_text(json.dumps(queued.job.document, indent=1))
        began = time.monotonic()
        ended = self.processes.run(queued.job, queued.folder, min(queued.job.timeout_s, left_s))
        if ended is not None and not queued.result_file.exists():
            if ended.status == "timeout" and left_s < queued.job.timeout_s:
                progress.note(f"stopped, the minutes are over: {queued.folder.name}")
                return
            # In a process of its own: describing the machine touches the GPU, and this process must
            # not hold it.
            forks.run(partial(_write_failure, queued.job, ended, queued.result_file), DESCRIPTION_S)
        self.ran.append(queued)
        progress.note(
            f"{time.monotonic() - began:6.1f} s  {queued.status:<16} {queued.folder.name}"
        )


def _write_failure(wanted: job.Job, ended: outcome.CaseOutcome, path: Path) -> None:
    found = result.Result(wanted)
    found.failed(ended)
    found.environment = environment.describe(wanted)
    report.conclude(wanted, found)
    result.write(found.document(), path)


def summary(ran: list[Queued], wall_s: float) -> str:
    """How many ended how, and which share of the wall time was measurement: compile, warm-up and
    samples.
    """
    documents = [json.loads(queued.result_file.read_text()) for queued in ran]
    statuses = [document["status"] for document in documents]
    counted = (
        ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses))
        or "nothing to do"
    )
    measured_s = sum(map(measurement_s, documents))
    lines = [f"{len(ran)} jobs in {wall_s / 60:.1f} min: {counted}"]
    if documents:
        lines.append(
            f"compile, warm-up and samples: {measured_s:.0f} s, {measured_s / wall_s:.0%} of "
            "the wall time"
        )
        stages = {
            name: sum(d["wall_s"].get(name, 0) for d in documents)
            for d in documents
            for name in d["wall_s"]
        }
        longest_first = sorted(stages.items(), key=lambda stage: -stage[1])
        lines += [f"  {seconds:8.1f} s  {name}" for name, seconds in longest_first]
    return "\n".join(lines)


def measurement_s(document: dict[str, Any]) -> float:
    """Seconds of a job that were compile, warm-up or samples: two stages, and the steps of each
    start of its own.
    """
    own = (start for kind, start in document.get("starts", {}).items() if kind != "ahead")
    steps_ms = sum(sum(start.get("steps_ms", ())) for start in own)
    return float(sum(document["wall_s"].get(stage, 0.0) for stage in MEASURING) + steps_ms / 1000)
