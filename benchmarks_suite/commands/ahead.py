"""What ``batch --ahead N`` does first: compile the cases of its list, N at a time, each in a
process of its own.

harness/ahead.py tells what the jobs find there, and what not.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from benchmarks_suite.commands.job_processes import in_fresh_process
from benchmarks_suite.harness import caches, precompile, progress, ranks, warm_imports
from benchmarks_suite.harness.job import Job

Arm: TypeAlias = tuple[Job, Path, str]  # of which case, the folder of its caches, which of its arms


def compile_ahead(jobs: Sequence[Job], folder: Path, at_once: int, deadline: float) -> None:
    """Leaves the caches of each case in ``folder``, and names it to the jobs of this process.

    deadline: of time.monotonic(); no case is begun after it. A case that cannot be compiled is left
        to its job.
    """
    os.environ[precompile.SWITCH] = str(folder.absolute())
    longest_first = sorted(filter(can_compile_ahead, jobs), key=lambda job: -job.timeout_s)
    wanted = {precompile.place(job, folder.absolute()): job for job in longest_first}
    for job in wanted.values():
        with suppress(caches.ToolchainError):  # its job tells it in its result
            caches.base(job.device, warm_imports.wrapper(job))  # made once, not by each of them
    arms = [
        (job, place / arm, arm) for place, job in wanted.items() for arm in precompile.arms(job)
    ]
    _compile_all([each for each in arms if not each[1].exists()], at_once, deadline)
    without_room = [each for each in arms if precompile.status(each[1]) == "oom"]
    _compile_all(without_room, at_once, deadline)  # beside each other alone
    for place in wanted:
        precompile.gather(place)


def can_compile_ahead(job: Job) -> bool:
    """Whether the job would find what it needs: nothing that is timed beside others, and no start
    that must be cold.
    """
    if job.measure.starts or ranks.spans_processes(job) or not warm_imports.needs_toolchain(job):
        return False
    # Which every process exports anew
    return not _timed_into_the_graph(job) and job.config.target != "aot_inductor"


def _timed_into_the_graph(job: Job) -> bool:
    """Whether kernels are chosen by their time while a graph is made: beside other work the choice
    would be another.
    """
    modes = (job.config.compile_mode, *job.config.part_modes, *job.config.inductor, *job.inductor)
    return any("autotune" in mode for mode in modes if mode)


def _compile_all(arms: Sequence[Arm], at_once: int, deadline: float) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        for future in [pool.submit(_compile, *arm, deadline) for arm in arms]:
            future.result()


def _compile(job: Job, folder: Path, arm: str, deadline: float) -> None:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that found no room
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(job.document))
    began = time.monotonic()
    try:
        command = ("benchmarks_suite.harness.precompile", "job.json", ".", arm)
        code = in_fresh_process(command, folder, min(job.timeout_s, left_s))
        how = precompile.status(folder) or f"exit code {code}"
    except TimeoutError:
        how = "timeout"
    progress.note(
        f"{time.monotonic() - began:6.1f} s  compiled ahead, {arm}: {how}  {folder.parent.name}"
    )
