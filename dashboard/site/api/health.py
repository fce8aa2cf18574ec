"""Two checks for orchestrators: does the process answer, and can it work?"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from kombu.exceptions import OperationalError

from dashboard.celery import app

ANSWER_S = 1.5  # a probe waits two seconds or more
BROKER_TIMEOUT_S = 1
NO_ANSWER = f"does not answer within {ANSWER_S} s: it is there, and hangs"


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and broker are fit, else 503; the body says what is wrong.

    Each is asked in a thread of its own, whose connection may hang for as long as it likes: the
    answer does not wait for it, and it is not asked a second time meanwhile.
    """
    for name, check in CHECKS.items():
        if name not in running or running[name].done():
            running[name] = threads.submit(check)
    answers = {name: running[name] for name in CHECKS}
    wait(answers.values(), timeout=ANSWER_S)
    states = {}
    for name, future in answers.items():
        states[name] = future.result() if future.done() else NO_ANSWER
    is_ready = set(states.values()) == {"ok"}
    return JsonResponse(states, status=200 if is_ready else 503)


def database_state() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"cannot be reached: {type(error).__name__}. Is the server of DATABASE_URL up?"
    finally:
        connection.close()  # of this thread alone
    return "ok"


def migrations_state() -> str:
    try:
        missing = _migrations() - MigrationRecorder(connection).applied_migrations().keys()
    except DatabaseError:
        return "unknown: the database cannot be reached"
    finally:
        connection.close()
    if missing:
        return f"{len(missing)} not applied: run `manage.py migrate`"
    return "ok"


@cache
def _migrations() -> frozenset[tuple[str, str]]:
    """App and name of each migration that the code has. Their files are read once, not by each
    probe.
    """
    return frozenset(MigrationLoader(None).graph.nodes)


def broker_state() -> str:
    try:
        with app.connection_for_write(connect_timeout=BROKER_TIMEOUT_S) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_TIMEOUT_S)
    except (OperationalError, OSError) as error:
        return f"cannot be reached: {type(error).__name__}. Is the server of BROKER_URL up?"
    return "ok"


CHECKS: dict[str, Callable[[], str]] = {
    "database": database_state,
    "migrations": migrations_state,
    "broker": broker_state,
}
running: dict[str, Future[str]] = {}
threads = ThreadPoolExecutor(max_workers=len(CHECKS), thread_name_prefix="readyz")
