"""The worker's Celery app: it carries (job id, attempt) and nothing else.

The lease in the site's database decides who runs a job.
"""

import os
import signal

import structlog
from celery import Celery
from celery.exceptions import Reject

from runner import job
from runner.leaving import NoTimeLeft
from runner.worker import Worker

RUN_JOB = "runner.run_job"
LONGEST_JOB_S = 86_400  # timeout_s of job.v1.json, at most

logger = structlog.get_logger(__name__)


def create_app(worker: Worker) -> Celery:
    """An app whose one task runs jobs for `worker`."""
    app = Celery("runner", broker=worker.settings.broker_url, set_as_current=True)
    app.conf.update(
        broker_transport_options=transport_options(worker.settings.broker_url),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # wait for the broker for as long as it takes
        task_serializer="json",
        accept_content=["json"],
        # A message outlives the worker; its redelivery is answered 409 and does no harm
        task_acks_late=True,
        task_ignore_result=True,
        # As the site declares its queue: RabbitMQ refuses a queue that is declared in two ways
        task_queue_max_priority=9,
        worker_prefetch_multiplier=1,
        worker_consumer="runner.consumer:PatientConsumer",
        # An outage of the broker is not a reason to measure again
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_proc_alive_timeout=60.0,  # a new process first ends what a killed one left
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
    )

    # It loads nothing and decides nothing: runner/job.py does
    def run_job(job_id: str, attempt: int) -> None:
        try:
            job.run(worker, job_id, attempt)
        except NoTimeLeft as reason:
            logger.info("leaving before the next job", why=str(reason))
            os.kill(os.getppid(), signal.SIGTERM)
            raise Reject(str(reason), requeue=True) from reason

    app.task(name=RUN_JOB)(run_job)
    return app


def transport_options(broker_url: str) -> dict[str, object]:
    """Options of kombu's Redis transport; none for AMQP, which has acknowledgements of its own."""
    if not broker_url.startswith("redis"):
        return {}
    return {
        # Any shorter, and a long job's message would be delivered twice
        "visibility_timeout": LONGEST_JOB_S + 3600,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        # Keys of our own: consumers restore by *their* timeout whatever is under shared keys
        "unacked_key": "runner.unacked",
        "unacked_index_key": "runner.unacked_index",
        "unacked_mutex_key": "runner.unacked_mutex",
        # One list per priority: every step that a sender may use is read
        "priority_steps": list(range(10)),
        # Of two messages of one priority: from the machine's queue and from our own in turn
        "queue_order_strategy": "round_robin",
    }
