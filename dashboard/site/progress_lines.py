"""A line whenever a job ends: in the terminal of `make up`, and by `manage.py follow_runs`.

Under `make up` the scheduler prints them: a process of their own would be as large as it is.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from celery.signals import beat_init
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections
from django.utils import timezone

from dashboard.runs.selectors.progress import ended_since, lines

LOOK_EVERY_S = 2.0


def follow(write: Callable[[str], Any], every_s: float = LOOK_EVERY_S) -> None:
    """Write a line for each job that ends from now on, and how far its run is, for ever."""
    seen = timezone.now()
    while True:
        time.sleep(every_s)
        try:
            seen = _write_ended(write, seen)
        except DatabaseError:  # the database restarts: look again with a new connection
            close_old_connections()


def _write_ended(write: Callable[[str], Any], seen: datetime) -> datetime:
    """Write what ended after `seen`; when the last of it did."""
    jobs = ended_since(seen)
    for line in lines(jobs, timezone.now()):
        write(line)
    return (jobs[-1].finished_at if jobs else None) or seen


def follow_in_scheduler(**_: Any) -> None:
    if settings.PRINT_PROGRESS:
        threading.Thread(target=follow, args=(print,), name="progress", daemon=True).start()


beat_init.connect(follow_in_scheduler, weak=False)
