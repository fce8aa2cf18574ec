"""The first step of ``batch --ahead N``: compile the cases of its list, N at a time, each arm in a
process of its own.

harness/precompile.py says what the jobs find there, and what not.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite.commands.job_process import in_fresh_process
from benchmarks_suite.harness import caches, progress, ranks, warm_imports
from benchmarks_suite.harness import precompile as arm_caches
from benchmarks_suite.harness.job import Job


@dataclass(frozen=True)
class Compilation:
    """One arm of a case to compile. folder: of its caches."""

    job: Job
    arm: str
    folder: Path


def precompile(jobs: Sequence[Job], folder: Path, at_once: int, deadline: float) -> None:
    """Leaves the caches of each case in ``folder``, and names it to the jobs of this process.

    deadline: of time.monotonic(); no case is begun after it. A case that cannot be compiled is left
        to its job.
    """
    folder = folder.absolute()
    os.environ[arm_caches.SWITCH] = str(folder)
    longest_first = sorted(filter(can_precompile, jobs), key=lambda job: -job.timeout_s)
    toolchains = {_toolchain(job) for job in longest_first}
    working = {each for each in toolchains if _works(*each)}
    possible = [job for job in longest_first if _toolchain(job) in working]
    cases = {arm_caches.place(job, folder): job for job in possible}
    compilations = list[Compilation]()
    for case_folder, job in cases.items():
        for arm in arm_caches.arms(job):
            compilations.append(Compilation(job, arm, case_folder / arm))
    pending = [each for each in compilations if not each.folder.exists()]
    _compile_all(pending, at_once, deadline)
    # Now without the other cases next to them
    out_of_memory = [each for each in compilations if arm_caches.status(each.folder) == "oom"]
    _compile_all(out_of_memory, at_once, deadline)
    for case_folder in cases:
        arm_caches.gather(case_folder)


def can_precompile(job: Job) -> bool:
    """Test whether the job would find what it needs.

    Nothing is compiled ahead that is timed next to others, nor for a start that must be cold.
    """
    if job.measure.starts or ranks.spans_processes(job) or not warm_imports.needs_toolchain(job):
        return False
    modes = (job.config.compile_mode, *job.config.part_modes)
    settings = (*job.config.inductor, *job.inductor)
    # Kernels are chosen by their time: next to other work the choice would be another
    if any("autotune" in name for name in (*modes, *settings) if name):
        return False
    return job.config.target != "aot_inductor"  # every process exports for it again


def _toolchain(job: Job) -> tuple[str, str]:
    return job.device, warm_imports.wrapper(job)


def _works(device: str, wrapper: str) -> bool:
    """Makes the base here, once. Where that fails it takes as long each time, and nothing compiles:
    the jobs report it in their results.
    """
    try:
        caches.base(device, wrapper)
    except caches.ToolchainError as error:
        reason, *_ = str(error).splitlines()
        progress.note(f"nothing can be compiled ahead on {device}, the toolchain fails: {reason}")
        return False
    return True


def _compile_all(compilations: Sequence[Compilation], at_once: int, deadline: float) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        for future in [pool.submit(_compile, each, deadline) for each in compilations]:
            future.result()


def _compile(compilation: Compilation, deadline: float) -> None:
    began = time.monotonic()
    left_s = deadline - began
    if left_s <= 0:
        return
    folder, job = compilation.folder, compilation.job
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that ran out of memory
    # Not among the caches: `import triton` would find theirs where no Triton is installed
    process_folder = folder / "process"
    process_folder.mkdir(parents=True)
    (process_folder / "job.json").write_text(json.dumps(job.document))
    command = ("benchmarks_suite.harness.precompile", "job.json", "..", compilation.arm)
    try:
        code = in_fresh_process(command, process_folder, min(job.timeout_s, left_s))
        status = arm_caches.status(folder) or f"exit code {code}"
    except TimeoutError:
        status = "timeout"
    took_s = time.monotonic() - began
    case = folder.parent.name
    progress.note(f"{took_s:6.1f} s  compiled ahead, {compilation.arm}: {status}  {case}")
