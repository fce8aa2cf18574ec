"""The Celery app of the dashboard worker and the scheduler; benchmark workers have the runner's."""

import ctypes
import gc
import os
import signal
import sys

from celery import Celery
from celery.signals import setup_logging, worker_init, worker_process_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
# `make test` runs Django's checks. Here they would load every page into processes that show none.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

from django.conf import settings  # after the settings are named

PR_SET_PDEATHSIG = 1  # linux/prctl.h
REDIS_OPTIONS = {
    # A message that nobody acknowledged for this long is delivered again. That does no harm: the
    # lease in the database decides.
    "visibility_timeout": 3600,
    "unacked_restore_interval": 5,
    "priority_steps": list(range(10)),  # kombu's own four would make two priorities of ours one
    "socket_connect_timeout": 3,
    "socket_timeout": 10,
}
_worker_pid = 0  # the parent of the processes that run tasks

app = Celery("dashboard")
app.conf.update(
    broker_url=settings.BROKER_URL,
    broker_transport_options=REDIS_OPTIONS if settings.BROKER_URL.startswith("redis") else {},
    broker_connection_retry_on_startup=True,
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.2},  # the reaper sends again
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_acks_late=True,
    # RabbitMQ's queues have priorities only when they are declared with them; Redis's always do
    task_queue_max_priority=9,
    task_default_queue="dashboard",
    timezone=settings.TIME_ZONE,
    beat_scheduler="dashboard.site.liveness:Scheduler",
    worker_hijack_root_logger=False,
    imports=[
        "dashboard.tasks",
        "dashboard.site.liveness",
        "dashboard.site.log_context",
        "dashboard.site.progress_lines",
    ],
)


@setup_logging.connect
def keep_djangos_logging(**_: object) -> None:
    """A receiver of this signal keeps Celery from replacing the logging that Django has set up."""


@worker_init.connect
def load_statistics(**_: object) -> None:
    """Before the worker forks its children: they judge with it, and share its memory."""
    import scipy.stats  # noqa: F401

    global _worker_pid  # noqa: PLW0603  # the processes forked later read it
    _worker_pid = os.getpid()
    gc.freeze()  # the collector would write to what they share


@worker_process_init.connect
def end_with_the_worker(**_: object) -> None:
    """A child of a worker that was killed ends at once: its task is delivered again."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != _worker_pid:  # it was killed before this was asked for
            os.kill(os.getpid(), signal.SIGKILL)
