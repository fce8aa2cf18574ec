"""The one task. It loads nothing and decides nothing: runner/job.py does."""

from celery import Celery

from runner import job
from runner.worker import Worker

RUN_JOB = "runner.run_job"


def register(app: Celery, worker: Worker) -> None:
    """Make `runner.run_job(job_id, attempt)` a task of `app`."""

    def run_job(job_id: str, attempt: int) -> None:
        job.run(worker, job_id, attempt)

    app.task(name=RUN_JOB)(run_job)
