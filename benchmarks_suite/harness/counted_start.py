"""The counted start: a cold one whose Python calls are counted, and whose time nobody reads.

How long a compilation takes depends on what else the machine does; how many calls it makes hardly
does. So the first step is profiled (call_counts.py) in a process of its own, like every start's
(starts.py): fresh caches, fixed hashes. So that the counts repeat, everything runs in this thread:
the kernels are compiled here instead of by workers, autograd runs the backward pass (in which a
lazy one is compiled) here instead of in a thread of its device, and tqdm, with which the tracing
of a graph shows its progress, starts no thread to watch its progress bars. Inductor, which chooses
a kernel's launch by timing, times each as often as any other.
"""

from contextlib import suppress
from pathlib import Path

from benchmarks_suite.harness import ranks, warm_imports
from benchmarks_suite.harness.call_counts import CallCounter
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job


def measure(job: Job, spec: Document) -> Document:
    """The answer without status. calls_out in ``spec``: where the table of calls is kept."""
    _stay_in_this_thread()
    warm_imports.import_torch(job.config.backend)
    warm_imports.import_model(job.benchmark.module)
    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiler_counts, compiling, torch_versions
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    settle_process(job)
    workload = loading.load(job.benchmark)
    working_copy = WorkingCopy(job.benchmark, workload, job.device, job.measure.seed)
    torch_versions.time_kernels_equally_often()
    torch_versions.set_options("inductor", {**job.inductor, "compile_threads": 1})
    arm = compiling.compiled_arm(working_copy, job.config)
    counter = CallCounter()
    with torch.autograd.set_multithreading_enabled(False), counter:
        arm.step(working_copy.batches[0])

    table = counter.table()
    if "calls_out" in spec and ranks.is_first():
        table.save(Path(spec["calls_out"]))
    return {
        "calls": table.total,
        "calls_by_phase": table.by_phase(),
        **compiler_counts.of_calls(table.calls),
    }


def _stay_in_this_thread() -> None:
    """Keeps tqdm, where it is installed, from starting a thread with the first of its bars.

    It comes before the model is loaded, which may show one: a thread that runs already would stay.
    """
    with suppress(ImportError):
        from tqdm import tqdm

        tqdm.monitor_interval = 0
