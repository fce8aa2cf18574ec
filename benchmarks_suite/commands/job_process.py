"""The process of a batch's job: a fresh one, as a worker starts it.

It has a process group of its own, a log and a time limit, takes with it whatever it started, and
ends with the batch.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks_suite.harness import caches, outcome, warm_imports
from benchmarks_suite.harness.job import Job


def run_job(job: Job, folder: Path, limit_s: float) -> outcome.CaseOutcome | None:
    """Run folder/job.json; how it ended where it left no result by itself."""
    if warm_imports.needs_toolchain(job):
        # Made once for the machine, in no job's time. The job reports a failure in its result.
        with suppress(caches.ToolchainError):
            caches.base(job.device, warm_imports.wrapper(job))
    files = ("job.json", "result.json")
    command = ("benchmarks_suite", "run", *files, "--parent", str(os.getpid()))
    try:
        code = in_fresh_process(command, folder, limit_s)
    except TimeoutError:
        return outcome.CaseOutcome(
            "timeout", f"killed after {limit_s:.0f} s: raise timeout_s, or measure less"
        )
    if code == 0:
        return None
    if code > 0:
        return outcome.CaseOutcome("crashed", f"exit code {code} and no result; see log.txt")
    if code == -signal.SIGKILL:
        how = "killed, most likely by the kernel because memory ran out"
        return outcome.CaseOutcome("oom", f"{how}; see log.txt")
    return outcome.CaseOutcome("crashed", f"ended by {signal.Signals(-code).name}; see log.txt")


def in_fresh_process(arguments: Sequence[str], folder: Path, limit_s: float) -> int:
    """The exit code of ``python -m ...`` in ``folder``. Raises TimeoutError."""
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
