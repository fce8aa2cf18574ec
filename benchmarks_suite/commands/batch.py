"""``batch``: a queue of jobs, one after the other, on a machine that nobody watches and that may stop at any time.

The list is JSON Lines: one job a line, ordered by value, each the fields of schema/job.v1.json that differ from their
defaults (``benchmark`` and ``config`` at least). Each job runs in a fresh process. A job whose result is there is not
run again: the same command after an interruption goes on where it was.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, contract, environment, job, outcome, progress, report, result

OK, SOMETHING_LEFT, WRONG_INPUT = 0, 1, 2
MEASURING = ("compile", "sampling")  # stages that are measurement through and through


@dataclass(frozen=True)
class Queued:
    """One line of the list: the checked job, and the files that it leaves."""

    job: job.Job
    folder: Path

    @property
    def result_file(self) -> Path:
        return self.folder / "result.json"


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("list", type=Path, help="JSON Lines: one job a line, ordered by value")
    parser.add_argument("out", type=Path, help="folder of the results, one folder a job")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no job after this long")


def run(options: Namespace) -> int:
    try:
        queue = read(options.list, options.out)
    except job.JobError as error:
        progress.note(f"benchmarks_suite: {error}")
        return WRONG_INPUT
    deadline = time.monotonic() + options.minutes * 60
    began = time.monotonic()
    ran = [queued for queued in queue if _is_due(queued) and _ran(queued, deadline)]
    print(summary(ran, time.monotonic() - began))  # noqa: T201 - the answer to whoever comes back
    return OK if all(queued.result_file.exists() for queued in queue) else SOMETHING_LEFT


def read(path: Path, out: Path) -> list[Queued]:
    """The jobs of the list, in its order. Raises JobError naming the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise job.JobError(f"cannot read the list {path}: {error.strerror}") from error
    return list(_parsed(lines, path, out))


def _parsed(lines: list[str], path: Path, out: Path) -> Iterator[Queued]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            document = contract.read_json(line)
            # The same line is the same job, so that a list can be run again, or with lines added.
            job_id = str(uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([number, document], sort_keys=True)))
            found = job.parse({"schema": "job.v1", "job_id": job_id, "attempt": 1, **document})
        except (ValueError, TypeError) as error:
            raise job.JobError(f"{path}, line {number}: {error}") from error
        yield Queued(found, out / f"{number:03d}-{found.benchmark.name}-{found.config.name}")


def _is_due(queued: Queued) -> bool:
    return not queued.result_file.exists()


def _ran(queued: Queued, deadline: float) -> bool:
    """Runs one job unless the time is over; whether it left a result."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return False
    queued.folder.mkdir(parents=True, exist_ok=True)
    (queued.folder / "job.json").write_text(json.dumps(queued.job.document, indent=1))
    began = time.monotonic()
    ended = _in_fresh_process(queued, min(queued.job.timeout_s, left_s))
    if ended is not None and not queued.result_file.exists():
        if ended.status == "timeout" and left_s < queued.job.timeout_s:
            progress.note(f"stopped, the minutes are over: {queued.folder.name}")
            return False
        _write_failure(queued.job, ended, queued.result_file)
    status = json.loads(queued.result_file.read_text())["status"]
    progress.note(f"{time.monotonic() - began:6.1f} s  {status:<16} {queued.folder.name}")
    return True


def _in_fresh_process(queued: Queued, limit_s: float) -> outcome.Outcome | None:
    """Runs one job in a process group of its own; how it ended where it left no result by itself."""
    command = [sys.executable, "-m", "benchmarks_suite", "run", "job.json", "result.json"]
    with (queued.folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=queued.folder,
            env=caches.child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return outcome.Outcome("timeout", f"killed after {limit_s:.0f} s: raise timeout_s, or measure less")
        finally:
            _end_group(process)
    if code < 0:
        name = signal.Signals(-code).name
        return outcome.Outcome("oom" if code == -signal.SIGKILL else "crashed", f"ended by {name}; see log.txt")
    return outcome.Outcome("crashed", f"exit code {code} and no result; see log.txt") if code else None


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Whatever the job started and left goes too: the next one finds a free device."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _write_failure(wanted: job.Job, ended: outcome.Outcome, path: Path) -> None:
    found = result.Result(wanted)
    found.failed(ended)
    found.environment = environment.describe(wanted)
    report.conclude(wanted, found)
    result.write(found.document(), path)


def summary(ran: list[Queued], wall_s: float) -> str:
    """How many ended how, and which share of the wall time was measurement: compile, warm-up and samples."""
    documents = [json.loads(queued.result_file.read_text()) for queued in ran]
    statuses = [document["status"] for document in documents]
    counted = ", ".join(f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)) or "nothing to do"
    measured_s = sum(map(measurement_s, documents))
    lines = [f"{len(ran)} jobs in {wall_s / 60:.1f} min: {counted}"]
    if documents:
        lines.append(f"compile, warm-up and samples: {measured_s:.0f} s, {measured_s / wall_s:.0%} of the wall time")
        stages = {name: sum(d["wall_s"].get(name, 0) for d in documents) for d in documents for name in d["wall_s"]}
        longest_first = sorted(stages.items(), key=lambda stage: -stage[1])
        lines += [f"  {seconds:8.1f} s  {name}" for name, seconds in longest_first]
    return "\n".join(lines)


def measurement_s(document: dict[str, Any]) -> float:
    """Seconds of a job that were compile, warm-up or samples: two stages, and the steps of each start."""
    steps_ms = sum(sum(start.get("steps_ms", ())) for start in document.get("starts", {}).values())
    return float(sum(document["wall_s"].get(stage, 0.0) for stage in MEASURING) + steps_ms / 1000)
