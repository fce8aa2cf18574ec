"""The processes that a batch's jobs run in: forked from a warm one, or fresh where that cannot be.

Either way a job has a process group of its own, a log, a time limit, and takes with it whatever it
started.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from benchmarks_suite.harness import caches, forks, outcome, progress, ranks, warm_imports
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

WARM_PROCESSES = 4  # the latest so many wait for jobs; each keeps some hundred MB
IMPORTS_S = 600  # an import that takes longer hangs
ENDING_S = 10  # then it is killed
GONE = {"unfit": "the process that was to be forked gave no answer; warm_processes.log may say why"}

_RUN = ("benchmarks_suite", "run", "job.json", "result.json")
_Key = tuple[frozenset[tuple[str, str]], str | None]


class NotForkable(Exception):
    """The warm process must not be forked; the text says why.

    of_model: only what this model imported is the reason.
    """

    def __init__(self, why: str, of_model: bool) -> None:
        super().__init__(why)
        self.of_model = of_model


class WarmProcess:
    """Starts warm_process.py for jobs like ``first``, and sends it jobs.

    log: where its own output goes.
    """

    def __init__(self, first: Job, log: Path) -> None:
        self._requests, theirs = Pipe()
        descriptor = theirs.fileno()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks_suite.commands.warm_process", str(descriptor)],
                env={**caches.child_environment(), **warm_imports.variables(first)},
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        theirs.close()

    def run(self, job: Job, folder: Path, limit_s: float) -> int:
        """Runs folder/job.json in a forked process; returns its exit code as subprocess does.

        Raises TimeoutError after ``limit_s``, and NotForkable.
        """
        request = {
            "folder": str(folder.absolute()),
            "limit_s": limit_s,
            "backend": warm_imports.compiler(job),
            "model": job.benchmark.module,
        }
        answer = request_answer(self._requests, request, limit_s + IMPORTS_S)
        if "unfit" in answer:
            raise NotForkable(answer["unfit"], answer.get("of_model", False))
        if answer["code"] is None:
            raise TimeoutError
        return int(answer["code"])

    def close(self) -> None:
        self._requests.close()  # it ends when it reads that, after its branches
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_S)
        self._process.kill()
        self._process.wait()


class JobProcesses:
    """Runs jobs one after the other. log: where the warm processes' own output goes."""

    def __init__(self, log: Path) -> None:
        self._log = log
        # None: a process like this must not be forked
        self._warm_processes: dict[_Key, WarmProcess | None] = {}
        # Whose libraries touch the device when they are imported
        self._unfit_models: set[str] = set()

    def run(self, job: Job, folder: Path, limit_s: float) -> outcome.CaseOutcome | None:
        """Runs folder/job.json; how it ended where it left no result by itself."""
        if warm_imports.needs_toolchain(job):
            # The job tries again, and reports it in its result
            with suppress(caches.ToolchainError):
                # Made once for the machine: no job's time
                caches.base(job.device, warm_imports.wrapper(job))
        try:
            code = self._run_forked(job, folder, limit_s)
            if code is None:
                code = in_fresh_process(_RUN, folder, limit_s)
        except TimeoutError:
            return outcome.CaseOutcome(
                "timeout", f"killed after {limit_s:.0f} s: raise timeout_s, or measure less"
            )
        return _outcome(code)

    def warm_process(self, job: Job) -> WarmProcess | None:
        """The process that jobs like this one are forked from; None where it must not be forked."""
        key = _key(job)
        if key not in self._warm_processes:
            self._end_the_oldest()
            self._warm_processes[key] = WarmProcess(job, self._log)
        return self._warm_processes[key]

    def close(self) -> None:
        for process in self._warm_processes.values():
            if process:
                process.close()

    def _run_forked(self, job: Job, folder: Path, limit_s: float) -> int | None:
        """The exit code of a job in a forked process; None where it has to be a fresh one.

        Raises TimeoutError.
        """
        model = job.benchmark.module
        if ranks.spans_processes(job) or model in self._unfit_models:
            return None
        if os.environ.get(forks.SWITCH) == "fresh":
            return None
        process = self.warm_process(job)
        if process is None:
            return None
        try:
            return process.run(job, folder, limit_s)
        except NotForkable as error:
            progress.note(f"jobs like {folder.name} run in fresh processes: {error}")
            if error.of_model:
                self._unfit_models.add(model)
            else:
                process.close()
                self._warm_processes[_key(job)] = None
            return None

    def _end_the_oldest(self) -> None:
        waiting = {key: process for key, process in self._warm_processes.items() if process}
        if len(waiting) == WARM_PROCESSES:
            key, process = next(iter(waiting.items()))
            process.close()
            del self._warm_processes[key]


def _key(job: Job) -> _Key:
    """What jobs must share to be forked from one process: what is set, and what is imported, before
    any of them.
    """
    return frozenset(warm_imports.variables(job).items()), warm_imports.compiler(job)


def in_fresh_process(arguments: Sequence[str], folder: Path, limit_s: float) -> int:
    """The exit code of ``python -m ...`` in ``folder``, in a process that imports by itself.

    Raises TimeoutError.
    """
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=folder,
            env=caches.child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error
        finally:
            # Whatever the job started and left goes too: the next one finds a free device
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _outcome(code: int) -> outcome.CaseOutcome | None:
    if code == 0:
        return None
    if code > 0:
        return outcome.CaseOutcome("crashed", f"exit code {code} and no result; see log.txt")
    if code == -signal.SIGKILL:
        how = "killed, most likely by the kernel because memory ran out"
        return outcome.CaseOutcome("oom", f"{how}; see log.txt")
    return outcome.CaseOutcome("crashed", f"ended by {signal.Signals(-code).name}; see log.txt")


def request_answer(
    requests: Connection, request: Document, limit_s: float | None = None
) -> Document:
    """The answer of the process at the other end; GONE where it ended, or took over ``limit_s``."""
    try:
        requests.send(request)
        if not requests.poll(limit_s):
            return GONE
        answer: Document = requests.recv()
    except (EOFError, OSError):
        return GONE
    return answer
