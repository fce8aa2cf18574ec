"""Spares a busy thread the question whether its database connection still works.

Django asks before the first query of each request (CONN_HEALTH_CHECKS): a twentieth of what a
result costs. A connection that served a request a moment ago is taken to work. Where it does not,
that one request is answered 503, and Django makes a new connection for the next.
"""

import threading
import time
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import connection

FRESH_S = 2.0
thread = threading.local()


def connect_signals() -> None:
    """After Django's own receiver, which has the connection checked."""
    request_started.connect(spare_check)
    request_finished.connect(note_use)


def note_use(**_: object) -> None:
    thread.used_at = time.monotonic()


def spare_check(**_: object) -> None:
    used_at: float | None = getattr(thread, "used_at", None)
    if used_at is not None and time.monotonic() - used_at < FRESH_S:
        used: Any = connection  # django-stubs do not know the attribute
        used.health_check_done = True
