"""Workloads that span several processes: the family ``distributed``, one rank for each GPU, two on
a CPU.

The job's own process stays one: it starts torchrun for each start, and for the comparison. All
ranks get the same batches, so that the float64 reference of one process holds for all; rank 0
reports, and decides for all when sampling ends, because ranks that stop apart would wait for each
other for ever.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path

from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

RANKS_ON_CPU = 2


def spans_processes(job: Job) -> bool:
    return job.benchmark.family == "distributed"


def command(job: Job, module: str, *arguments: str) -> list[str]:
    """Build the job's command for ``module``: by the interpreter, or torchrun on all ranks here.

    torchrun leaves its logs where it is run (else in the temporary folder, for good).
    """
    if not spans_processes(job):
        return [sys.executable, "-m", module, *arguments]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--log-dir=torchrun"]
    ranks = f"--nproc-per-node={_count(job)}"
    return [sys.executable, *torchrun, ranks, "-m", module, *arguments]


def _count(job: Job) -> int:
    """Count the ranks: the GPUs of this machine. Raises Unsupported where there is one."""
    if not job.on_gpu:
        return RANKS_ON_CPU
    import torch

    from benchmarks_suite.workload import Unsupported

    count = torch.cuda.device_count()
    if count < 2:
        raise Unsupported(f"{job.benchmark.name} spans several GPUs, and torch sees {count} here")
    return count


def own(job: Job) -> Job:
    """The job as this rank sees it: on its own device."""
    if spans_processes(job) and job.on_gpu:
        return dataclasses.replace(job, device=f"cuda:{os.environ['LOCAL_RANK']}")
    return job


def join(job: Job) -> None:
    """Joins the other ranks of a distributed job; nothing for a job of one process."""
    if spans_processes(job):
        import torch

        if job.on_gpu:
            torch.cuda.set_device(torch.device(job.device))
        torch.distributed.init_process_group("nccl" if job.on_gpu else "gloo")


def is_first() -> bool:
    """Test whether this process reports: rank 0, or one that is alone."""
    return int(os.environ.get("RANK", "0")) == 0


def leave(job: Job, path: Path, content: Document, failed: bool) -> None:
    """Writes the answer for the process that started this one, and ends this one's part.

    Rank 0 answers. A rank that failed answers too, and ends at once: torchrun then ends those that
    wait for it.
    """
    if failed or is_first():
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(json.dumps(content))
        partial.replace(path)
    if not spans_processes(job):
        return
    if failed:
        os._exit(1)
    import torch.distributed

    # A rank that dies while it ends (threads of its backend do that now and then) has torchrun end
    # the others: none ends before rank 0 has answered.
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def agreed(value: float) -> float:
    """Rank 0's ``value``, on every rank."""
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return value
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    shared = torch.tensor([value], dtype=torch.float64, device=device)
    torch.distributed.broadcast(shared, 0)
    return float(shared.item())
