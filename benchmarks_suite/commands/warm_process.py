"""A process that has imported torch and the compiler, and forks jobs.

    python -m benchmarks_suite.commands.warm_process DESCRIPTOR

One of them serves every job with the same variables and the same backend; job_processes.py starts
it and sends it requests. For each model it forks a branch, which imports its libraries once, and
forks the jobs. So a job's process has imported what one that runs alone would have imported, and
nothing else:

    batch ── warm process: torch, compiler ── branch: transformers, gpt2 ── job ── its starts
                                           └─ branch: diffusers, sd_unet ── job ── its starts

Requests and answers are small dictionaries on a pipe. A branch lives as long as it is one of the
latest BRANCHES.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from benchmarks_suite.commands import run
from benchmarks_suite.commands.job_processes import GONE, request_answer
from benchmarks_suite.harness import forks, warm_imports
from benchmarks_suite.harness.contract import Document

BRANCHES = 8


def serve(requests: Connection) -> None:
    """The trunk: passes each request to the branch of its model."""
    branches: dict[str, Connection] = {}
    for request in iter(partial(_next, requests), None):
        warm_imports.import_torch(request["backend"])
        if why := forks.why_unfit():
            requests.send({"unfit": why})
            continue
        model = request["model"]
        if model not in branches:
            if len(branches) == BRANCHES:
                branches.pop(next(iter(branches))).close()  # the oldest ends when its pipe does
            branches[model] = _fork_branch(partial(_branch, model, [requests, *branches.values()]))
        answer = request_answer(branches[model], request)
        if answer == GONE:
            del branches[model]
        requests.send(answer)


def _branch(model: str, foreign: list[Connection], requests: Connection) -> None:
    """Imports the model's libraries, then forks a job for each request."""
    for connection in foreign:
        connection.close()
    with suppress(Exception):  # whatever is wrong with them, the job says it in its result
        warm_imports.import_model(model)
    for request in iter(partial(_next, requests), None):
        requests.send(_run_job(request, requests))


def _run_job(request: Document, requests: Connection) -> Document:
    if why := forks.why_unfit():  # the trunk was fit: it is what the model's libraries did
        return {"unfit": why, "of_model": True}
    work = partial(_job, Path(request["folder"]), requests)
    try:
        code = forks.run(work, request["limit_s"], own_group=True)
    except TimeoutError:
        return {"code": None}
    return {"code": code}


def _job(folder: Path, requests: Connection) -> int:
    """One job, as ``run job.json result.json`` does it in its folder; returns the exit code.

    Its output goes to log.txt there.
    """
    requests.close()
    os.chdir(folder)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    return run.run_files(Path("job.json"), Path("result.json"))


def _fork_branch(work: Callable[[Connection], None]) -> Connection:
    """Forks a child that does ``work`` with its end of a pipe; returns our end."""
    ours, theirs = Pipe()

    def begin(parent: int) -> None:
        forks.end_with_parent(parent)
        ours.close()
        work(theirs)

    multiprocessing.get_context("fork").Process(target=begin, args=(os.getpid(),)).start()
    theirs.close()
    return ours


def _next(requests: Connection) -> Document | None:
    """The next request; None when no more will come."""
    try:
        request: Document = requests.recv()
    except EOFError:
        return None
    return request


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())
    serve(Connection(int(sys.argv[1])))
