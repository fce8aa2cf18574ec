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

from runner import job_folder
from runner.commands import CommandRunner, JobStopped
from runner.device import lock_devices, lock_holder
from runner.disk_room import missing_room_behind, wait_for_room
from runner.environments.adopted import SuiteEnvironment
from runner.environments.provisioning import EnvironmentUnavailable, provide_environment
from runner.job_context import JobContext
from runner.job_heartbeat import JobHeartbeat
from runner.job_log import JobLog
from runner.leaving import check_time, hand_back
from runner.outbox import sendable_artifacts
from runner.outcome import (
    JobOutcome,
    ProcessContext,
    ResultFile,
    classify_outcome,
    read_result,
    result_body,
)
from runner.process import SuiteProcess, job_marker, process_variables
from runner.repositories import NotFetched, export, repository_cache
from runner.resource_exhaustion import describe_full_disk, describe_increase, oom_kill_counts
from runner.site import RequestRefused, SiteError, StaleAttempt
from runner.suite_account import account_variables, open_to
from runner.worker import Worker

JOB_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")  # it becomes part of a path
DELIVERY_PATIENCE_S = 20.0  # then the outcome waits in the outbox and the next job may start
DISK_RETRY_S = 2.0
ASK_EVERY_S = 10.0  # whether a job that waits for the device is still wanted

logger = structlog.get_logger(__name__)


class WrongDevice(Exception):
    """The job is for another kind of device. The text says for which."""


class JobDropped(Exception):
    """The job ended without an outcome: it is no longer ours, or the worker is stopping."""


class WorkerStopping(JobDropped):
    """The worker is stopping: the job is measured again."""


class NoRoom(JobDropped):
    """The job failed on a disk that others have filled: it is measured again."""


def run(worker: Worker, job_id: str, attempt: int) -> str:
    """Run one job and deliver how it ended.

    Returns the outcome's status word, or `dropped` where there is no outcome. Raises NoTimeLeft.

    1. wait until the site knows us, and until the disk has room
    2. lock the device
    3. claim the job
    4. make its folder and job file
    5. provide its environment, run the suite in it, under heartbeats
    6. classify the outcome
    7. put it into the outbox
    8. free the device, deliver
    """
    if not JOB_ID.fullmatch(job_id) or attempt < 1:
        raise ValueError(
            f"a message names job {job_id!r}, attempt {attempt!r}: the site makes no such ids"
        )
    with structlog.contextvars.bound_contextvars(job=job_id, attempt=attempt):
        try:
            status = _run_on_device(worker, job_id, attempt)
        except (SiteError, JobDropped) as reason:
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
        _drop_if_stopping(worker)

    def while_waiting(waited_s: float, held_by: str = "") -> None:
        _drop_if_stopping(worker)
        if waited_s % ASK_EVERY_S == 0:
            _drop_if_unwanted(worker, job_id, attempt, held_by)

    def while_locked(waited_s: float) -> None:
        holder = ""
        if waited_s % ASK_EVERY_S == 0:
            holder = lock_holder(worker.settings.lock_dir, worker.device_ids)
        if waited_s % 60 == 0:
            logger.warning("waiting for the device", held_by=holder, waited_s=waited_s)
        while_waiting(waited_s, holder)

    wait_for_room(worker.settings, while_waiting)
    with lock_devices(worker.settings.lock_dir, worker.device_ids, while_locked) as locks:
        check_time(worker, job_id, attempt)
        claim = worker.site.claim(job_id, attempt, str(worker.boot_id))
        logger.info(
            "job claimed", benchmark=claim.job.get("benchmark"), config=claim.job.get("config")
        )
        folder = worker.jobs / f"{job_id}.{attempt}"
        log = JobLog(folder / "log.txt")
        return _run_claimed(worker, JobContext(job_id, attempt, claim, folder, locks, log))


def _drop_if_unwanted(worker: Worker, job_id: str, attempt: int, held_by: str) -> None:
    """Raises StaleAttempt for a job that was cancelled, say, while it waits for the device."""
    try:
        worker.site.waiting(job_id, attempt, str(worker.boot_id), held_by=held_by)
    except StaleAttempt:
        raise
    except SiteError as error:  # the claim asks again, with patience
        logger.debug("not known whether the job is still wanted", why=str(error))


def _run_claimed(worker: Worker, job: JobContext) -> str:
    heartbeat = JobHeartbeat(worker.site, job)
    try:
        with heartbeat:
            outcome, result = _measure(worker, job, heartbeat)
            if missing := missing_room_behind(job, worker.settings, outcome, result):
                raise NoRoom(missing)
            body = result_body(job.attempt, outcome, result.document)
            _store_outcome(worker, job, heartbeat, body, _artifacts(job, result))
        return outcome.status
    except WorkerStopping:
        hand_back(worker, job)
        raise
    except NoRoom:
        hand_back(worker, job, counts=False)
        raise
    finally:
        job_folder.remove(job.folder)


def _measure(
    worker: Worker, job: JobContext, heartbeat: JobHeartbeat
) -> tuple[JobOutcome, ResultFile]:
    """Provide the environment, run the suite in it to its end, and classify the outcome.

    Raises JobDropped, SiteError.
    """

    def why_stop() -> str:
        if heartbeat.stop_reason:
            return heartbeat.stop_reason
        return "stopping" if worker.stopping.is_set() else ""

    with ExitStack() as held:
        try:
            spec = _with_our_device(worker, job.claim.job)
            job_folder.create(job.folder)
            spec = _with_own_models(worker, job, spec, why_stop)
            environment = held.enter_context(provide_environment(worker, job, why_stop))
            suite = _start_suite(worker, job, environment, spec)
        except (WrongDevice, EnvironmentUnavailable, NotFetched) as reason:
            outcome = JobOutcome("fail_to_run", str(reason), log_tail=job.log.tail())
            return outcome, ResultFile()
        except OSError as error:
            message = f"{_full_disk(worker)}The worker could not start the suite: {error}"
            return JobOutcome("fail_to_run", message), ResultFile()
        except JobStopped as stopped:
            _drop_if_stale_or_stopping(str(stopped))
            outcome = JobOutcome("cancelled", "Cancelled while its environment was made.")
            return outcome, ResultFile()
        return _watch_suite(worker, job, suite, why_stop)


def _with_our_device(worker: Worker, spec: dict[str, Any]) -> dict[str, Any]:
    """The job with the device as its process will see it. Raises WrongDevice."""
    device = worker.settings.device
    requested = str(spec.get("device", device.kind))
    if requested.partition(":")[0] != device.kind:
        raise WrongDevice(
            f"The job is for {requested}, but this worker owns {device}. "
            "Plan it for another machine."
        )
    # CUDA_VISIBLE_DEVICES shows only our GPUs: whatever their numbers, they begin with the first
    return {**spec, "device": "cpu" if device.kind == "cpu" else "cuda:0"}


def _with_own_models(
    worker: Worker, job: JobContext, spec: dict[str, Any], why_stop: Callable[[], str]
) -> dict[str, Any]:
    """The job with the folder of its repository, or with the worker's own files.

    Raises NotFetched, JobStopped.
    """
    if "repository" in spec:
        job.log.say("phase: own models")
        temporary = job_folder.temporary(job.folder)
        commands = CommandRunner(job.folder, temporary, job.log, why_stop)
        models = job.folder / "models"
        export(spec["repository"], repository_cache(worker), models, commands)
        return {**spec, "sources": [str(models)]}
    if worker.settings.models:
        return {**spec, "sources": list(worker.settings.models)}
    return spec


def _start_suite(
    worker: Worker, job: JobContext, environment: SuiteEnvironment, spec: dict[str, Any]
) -> SuiteProcess:
    """Write the job's file, and start the suite. Raises OSError."""
    job_file = job.folder / "job.json"
    job_file.write_text(json.dumps(spec, indent=1))
    account = worker.settings.suite_account
    temporary = job_folder.temporary(job.folder)
    open_to(account, job.folder, temporary)
    extra = {
        "PYTHONPATH": environment.python_path,
        "TMPDIR": str(temporary),
        "CUDA_VISIBLE_DEVICES": worker.settings.device.visible(os.environ),
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # the numbers that nvidia-smi shows
        **account_variables(account),
    }
    return SuiteProcess(
        [*environment.command, "run", str(job_file), str(job.folder / "result.json")],
        folder=job.folder,
        variables=process_variables(os.environ, job_marker(job.folder), extra),
        log=job.log,
        keep_open=job.locks,
        account=account,
    )


def _watch_suite(
    worker: Worker, job: JobContext, suite: SuiteProcess, why_stop: Callable[[], str]
) -> tuple[JobOutcome, ResultFile]:
    """Raises JobDropped."""
    kills_before = oom_kill_counts()
    end = suite.watch(job.claim.timeout_s, why_stop)
    _drop_if_stale_or_stopping(end.stopped_for)
    result = read_result(job.folder / "result.json")
    context = ProcessContext(
        limit_s=job.claim.timeout_s,
        last_words=job.log.last_words(),
        phase=job.log.phase(),
        oom=describe_increase(kills_before, oom_kill_counts()) if end.signal else "",
        full_disk=_full_disk(worker),
    )
    return classify_outcome(end, result, context, job.log.tail()), result


def _full_disk(worker: Worker) -> str:
    return describe_full_disk(worker.settings.worker_dir, worker.settings.needed_mb)


def _artifacts(job: JobContext, result: ResultFile) -> list[Path]:
    """The suite's artifacts, a result that cannot be read, a log longer than its tail."""
    files: list[Path] = []
    folder = job.folder / "artifacts"
    # A link that the suite made could show us files that we may read and it may not
    if folder.is_dir() and not folder.is_symlink():
        files += sorted(folder.iterdir())
    if result.problem:
        files.append(job.folder / "result.json")
    if job.log.is_longer_than_tail():
        files.append(job.log.path)
    return sendable_artifacts(files)


def _store_outcome(
    worker: Worker,
    job: JobContext,
    heartbeat: JobHeartbeat,
    body: bytes,
    artifacts: Sequence[Path],
) -> None:
    """Put the outcome into the outbox.

    While the disk does not take it, hold it in memory, keep the lease, report that, and offer the
    outcome to the site directly. Raises JobDropped.
    """
    while True:
        try:
            worker.outbox.put(job.job_id, job.attempt, body, artifacts)
            return
        except OSError as error:
            logger.error(
                "the outbox cannot be written: the outcome is held in memory", why=str(error)
            )
            heartbeat.note = "worker cannot write its outbox"
        if _deliver_from_memory(worker, job, body, artifacts):
            return
        if worker.stopping.wait(DISK_RETRY_S):
            raise WorkerStopping(
                "the worker stops, and neither its disk nor the site takes the outcome: it will "
                "be measured again"
            )


def _deliver_from_memory(
    worker: Worker, job: JobContext, body: bytes, artifacts: Sequence[Path]
) -> bool:
    """Send the outcome from memory; return whether the site took it. Raises JobDropped."""
    try:
        worker.site.result(job.job_id, gzip.compress(body, mtime=0))
    except (StaleAttempt, RequestRefused) as answer:
        raise JobDropped(str(answer)) from answer
    except SiteError as error:
        logger.warning(
            "the outcome could not be delivered from memory either; trying both again",
            why=str(error),
        )
        return False
    logger.warning(
        "the outcome was delivered from memory; its artifacts are lost", artifacts=len(artifacts)
    )
    return True


def _drop_if_stopping(worker: Worker) -> None:
    if worker.stopping.is_set():
        raise WorkerStopping("the worker is stopping")


def _drop_if_stale_or_stopping(stopped_for: str) -> None:
    """A stale attempt does not count; a job that the worker stops is measured again."""
    if stopped_for == "stopping":
        raise WorkerStopping("the worker is stopping")
    if stopped_for == "stale":
        raise JobDropped("stopped: stale")
