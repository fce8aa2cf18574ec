"""Room on the worker's disks.

Without it no job is begun, and a job that failed for it is handed back. Who filled the disk is seen
by removing the job's own files: if there is room then, it was the job, and its failure counts.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from runner import job_folder
from runner.host_info import nearest_existing
from runner.job_context import JobContext
from runner.outcome import JobOutcome, ResultFile
from runner.settings import WorkerSettings

LOOK_EVERY_S = 1.0
REPORT_CHARACTERS = 300  # what the site takes
MAY_LACK_ROOM = {"crashed", "fail_to_run", "fail_to_compile"}

logger = structlog.get_logger(__name__)


def describe_missing_room(settings: WorkerSettings) -> str:
    """Name the disk that has less room than a job needs; empty where all have enough."""
    for folder in _written_folders(settings):
        free_mb = shutil.disk_usage(folder).free // 1000**2
        if free_mb < settings.needed_mb:
            room = f"{free_mb} MB free, and {settings.needed_mb} are needed (WORKER_FREE_GB)"
            return f"The disk under {folder} has {room}: make room."[-REPORT_CHARACTERS:]
    return ""


def _written_folders(settings: WorkerSettings) -> list[Path]:
    """List the folders that a job, or making its environment, writes to. Environments that came
    with a read-only image need no room.
    """
    folders = [settings.worker_dir, Path(tempfile.gettempdir())]
    environments = nearest_existing(settings.environments_dir)
    if os.access(environments, os.W_OK):
        folders.append(environments)
    return folders


def wait_for_room(settings: WorkerSettings, while_waiting: Callable[[float], None]) -> None:
    """Return when there is room for a job. `while_waiting(seconds waited)` may raise."""
    waited_s = 0.0
    while problem := describe_missing_room(settings):
        if waited_s == 0:
            logger.warning("no job is begun until there is room again", why=problem)
        while_waiting(waited_s)
        time.sleep(LOOK_EVERY_S)
        waited_s += LOOK_EVERY_S
    if waited_s:
        logger.info("there is room again")


def missing_room_behind(
    job: JobContext, settings: WorkerSettings, outcome: JobOutcome, result: ResultFile
) -> str:
    """Name the disk that others have filled, where the job may have failed for it; else empty.

    Removes the files of a job that failed on a full disk.
    """
    status = result.document.get("status") if result.document else outcome.status
    if status not in MAY_LACK_ROOM or not describe_missing_room(settings):
        return ""
    job_folder.remove(job.folder)
    return describe_missing_room(settings)
