"""The life of one job on the worker, from its message to its delivered outcome."""

import gzip
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import structlog

from runner import evidence, gpu, jobfolder
from runner.account import open_to
from runner.environments import Environment
from runner.environments.providing import NotProvided, provided
from runner.environments.steps import Steps, Stopped
from runner.heartbeat import Heartbeat
from runner.joblog import JobLog
from runner.outbox import sendable
from runner.outcome import Outcome, ResultFile, Scene, body, judge, read_result
from runner.process import Ended, Suite, environment, mark_of
from runner.repositories import NotFetched, cache_of, export
from runner.site import Refused, SiteError, Stale
from runner.ticket import Ticket
from runner.worker import Worker

JOB_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")  # it becomes part of a path
DELIVERY_PATIENCE_S = 20.0  # then the outcome waits in the outbox and the next job may start
DISK_AGAIN_S = 2.0

logger = structlog.get_logger(__name__)


class Unfit(Exception):
    """This worker cannot run this job. The text says why."""


class Dropped(Exception):
    """The job ended without an outcome to tell: it is no longer ours, or the worker is stopping."""


def run(worker: Worker, job_id: str, attempt: int) -> str:
    """Run one job and deliver how it ended. Returns the outcome's status word, or `dropped` where
    there is none.

    1. wait until the site knows us   2. lock the device   3. claim the job   4. make its folder and
       job file
    5. have its environment, run the suite in it, under heartbeats   6. name the outcome   7. put it
       into the outbox
    8. free the device, deliver
    """
    if not JOB_ID.fullmatch(job_id) or attempt < 1:
        raise ValueError(
            f"a message names job {job_id!r}, attempt {attempt!r}: the site makes no such ids"
        )
    with structlog.contextvars.bound_contextvars(job=job_id, attempt=attempt):
        try:
            status = _run_on_device(worker, job_id, attempt)
        except (SiteError, Dropped) as reason:
            logger.warning("job dropped", why=str(reason))
            return "dropped"
        logger.info("job ended", status=status)
        if problem := worker.outbox.deliver(worker.site, DELIVERY_PATIENCE_S):
            logger.warning(
                "an outcome waits in the outbox; it is offered again and again", why=problem
            )
        return status


def _run_on_device(worker: Worker, job_id: str, attempt: int) -> str:
    while not worker.greeted.wait(0.5):
        _unless_stopping(worker)

    def waiting_for_device(waited_s: float) -> None:
        _unless_stopping(worker)
        if waited_s % 60 == 0:
            logger.warning(
                "the device is in use by another worker, or by what is left of a job; waiting",
                waited_s=waited_s,
            )

    with gpu.all_locked(worker.settings.lock_dir, worker.device_ids, waiting_for_device) as locks:
        claim = worker.site.claim(job_id, attempt, str(worker.boot_id))
        logger.info(
            "job claimed", benchmark=claim.job.get("benchmark"), config=claim.job.get("config")
        )
        folder = worker.jobs / f"{job_id}.{attempt}"
        return _run_claimed(
            worker, Ticket(job_id, attempt, claim, folder, locks, JobLog(folder / "log.txt"))
        )


def _run_claimed(worker: Worker, ticket: Ticket) -> str:
    try:
        with Heartbeat(
            worker.site, ticket.job_id, ticket.attempt, ticket.claim.heartbeat_s, ticket.log
        ) as heartbeat:
            outcome, result = _measure(worker, ticket, heartbeat)
            content = body(ticket.attempt, outcome, result.document)
            _keep(worker, ticket, heartbeat, content, _artifacts(ticket, result))
        return outcome.status
    finally:
        jobfolder.remove(ticket.folder)


def _measure(worker: Worker, ticket: Ticket, heartbeat: Heartbeat) -> tuple[Outcome, ResultFile]:
    """Have the environment, run the suite in it to its end, and name the outcome. Raises Dropped,
    SiteError.
    """

    def why_stop() -> str:
        return heartbeat.verdict or ("stopping" if worker.stopping.is_set() else "")

    with ExitStack() as held:
        try:
            job = _for_this_worker(worker, ticket.claim.job)
            jobfolder.make(ticket.folder)
            job = _with_own_models(worker, ticket, job, why_stop)
            within = held.enter_context(provided(worker, ticket, why_stop))
            suite = _start(worker, ticket, within, job)
        except (Unfit, NotProvided, NotFetched) as reason:
            return Outcome("fail_to_run", str(reason), log_tail=ticket.log.tail()), ResultFile()
        except OSError as error:
            full = evidence.full_disk(worker.settings.worker_dir)
            return Outcome(
                "fail_to_run", f"{full}The worker could not start the suite: {error}"
            ), ResultFile()
        except Stopped as stopped:
            _unless_dropped(str(stopped))
            return Outcome("cancelled", "Cancelled while its environment was made."), ResultFile()
        return _run_suite(worker, ticket, suite, why_stop)


def _run_suite(
    worker: Worker, ticket: Ticket, suite: Suite, why_stop: Callable[[], str]
) -> tuple[Outcome, ResultFile]:
    """Raises Dropped."""
    kills_before = evidence.oom_kills()
    ended = suite.watch(ticket.claim.timeout_s, why_stop)
    _unless_dropped(ended.stopped_for)
    result = read_result(ticket.folder / "result.json")
    return judge(
        ended, result, _scene(worker, ticket, ended, kills_before), ticket.log.tail()
    ), result


def _start(worker: Worker, ticket: Ticket, within: Environment, job: dict[str, Any]) -> Suite:
    """Write the job's file, and start the suite. Raises OSError."""
    job_file = ticket.folder / "job.json"
    job_file.write_text(json.dumps(job, indent=1))
    account, temporary = worker.settings.suite_account, jobfolder.temporary(ticket.folder)
    open_to(account, ticket.folder, temporary)
    variables = environment(
        os.environ,
        mark_of(ticket.folder),
        {
            "PYTHONPATH": within.python_path,
            "TMPDIR": str(temporary),
            "CUDA_VISIBLE_DEVICES": worker.settings.device.visible(os.environ),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # the numbers that nvidia-smi shows
            **(account.variables if account else {}),
        },
    )
    command = [*within.command, "run", str(job_file), str(ticket.folder / "result.json")]
    return Suite(
        command,
        folder=ticket.folder,
        variables=variables,
        log=ticket.log,
        keep_open=ticket.locks,
        account=account,
    )


def _for_this_worker(worker: Worker, job: dict[str, Any]) -> dict[str, Any]:
    """The job with the device as its process will see it. Raises Unfit for another kind of
    device.
    """
    device = worker.settings.device
    wanted = str(job.get("device", device.kind))
    if wanted.partition(":")[0] != device.kind:
        raise Unfit(
            f"The job is for {wanted}, but this worker owns {device}. Plan it for another machine."
        )
    # CUDA_VISIBLE_DEVICES shows our GPUs alone: whatever their numbers, they begin with the first
    return {**job, "device": "cpu" if device.kind == "cpu" else "cuda:0"}


def _with_own_models(
    worker: Worker, ticket: Ticket, job: dict[str, Any], why_stop: Callable[[], str]
) -> dict[str, Any]:
    """The job with the folder of its repository, or with the worker's own files. Raises NotFetched,
    Stopped.
    """
    if "repository" not in job:
        return {**job, "sources": [*worker.settings.models]} if worker.settings.models else job
    ticket.log.say("phase: own models")
    steps = Steps(
        ticket.folder / "steps",
        jobfolder.temporary(ticket.folder),
        ticket.log,
        mark_of(ticket.folder),
        why_stop,
    )
    export(job["repository"], cache_of(worker), ticket.folder / "models", steps)
    return {**job, "sources": [str(ticket.folder / "models")]}


def _scene(worker: Worker, ticket: Ticket, ended: Ended, kills_before: dict[str, int]) -> Scene:
    return Scene(
        limit_s=ticket.claim.timeout_s,
        words=ticket.log.words(),
        phase=ticket.log.phase(),
        oom=evidence.risen(kills_before, evidence.oom_kills()) if ended.signal else "",
        full_disk=evidence.full_disk(worker.settings.worker_dir),
    )


def _artifacts(ticket: Ticket, result: ResultFile) -> list[Path]:
    """What goes along: the suite's artifacts, a result that cannot be read, a log longer than its
    tail.
    """
    folder = ticket.folder / "artifacts"
    # a link that the suite made could show us files that we may read and it may not
    files = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
    files += [ticket.folder / "result.json"] if result.problem else []
    if ticket.log.is_longer_than_tail():
        files.append(ticket.log.path)
    return sendable(files)


def _keep(
    worker: Worker, ticket: Ticket, heartbeat: Heartbeat, content: bytes, artifacts: Sequence[Path]
) -> None:
    """Put the outcome into the outbox. While the disk does not take it, hold it in memory, keep the
    lease, say so, and offer it to the site directly.
    """
    while True:
        try:
            worker.outbox.put(ticket.job_id, ticket.attempt, content, artifacts)
            return
        except OSError as error:
            logger.error(
                "the outbox cannot be written: the outcome is held in memory", why=str(error)
            )
            heartbeat.note = "worker cannot write its outbox"
        try:
            worker.site.result(ticket.job_id, gzip.compress(content, mtime=0))
            logger.warning(
                "the outcome was delivered from memory; its artifacts are lost",
                artifacts=len(artifacts),
            )
            return
        except (Stale, Refused) as answer:
            raise Dropped(str(answer)) from answer
        except SiteError as error:
            logger.warning(
                "the outcome could not be delivered from memory either; trying both again",
                why=str(error),
            )
        if worker.stopping.wait(DISK_AGAIN_S):
            raise Dropped(
                "the worker stops, and neither its disk nor the site takes the outcome: it will "
                "be measured again"
            )


def _unless_stopping(worker: Worker) -> None:
    if worker.stopping.is_set():
        raise Dropped("the worker is stopping")


def _unless_dropped(stopped_for: str) -> None:
    if stopped_for in {"stale", "stopping"}:
        raise Dropped(f"stopped: {stopped_for}")
