"""A worker that leaves: at the end of the time that it was given, or because it is stopped.

It takes no job that is expected to take longer than what is left, and hands back what it has to
stop. The message of a job that it did not take goes back to its queue.
"""

import math

import structlog

from runner.job_context import JobContext
from runner.site import FOREVER_S, SiteError
from runner.worker import Worker

logger = structlog.get_logger(__name__)


class NoTimeLeft(Exception):
    """The job is not expected to end before the worker leaves. The text says by how much."""


def check_time(worker: Worker, job_id: str, attempt: int) -> None:
    """Raises NoTimeLeft, and as `Site.waiting` does.

    A job of which nothing is known is taken: when the time is over, it is handed back.
    """
    if math.isinf(worker.ends_at):
        return
    expected_s = worker.site.waiting(job_id, attempt, str(worker.boot_id), FOREVER_S) or 0
    if expected_s > worker.remaining_s:
        left_s = max(0.0, worker.remaining_s)
        raise NoTimeLeft(f"{expected_s:.0f} s are expected, {left_s:.0f} s are left")


def hand_back(worker: Worker, job: JobContext, counts: bool = True) -> None:
    """Have the job queued again now; where the site does not take that, its lease ends soon.

    counts: whether the attempt is one of those that the job has.
    """
    try:
        worker.site.hand_back(job.job_id, job.attempt, counts)
    except SiteError as error:
        logger.warning("the job could not be handed back", why=str(error))
