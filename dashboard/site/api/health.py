"""Two checks for orchestrators: does the process answer, and can it work?"""

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from kombu.exceptions import OperationalError

from dashboard.celery import app

BROKER_TIMEOUT_S = 3


@login_not_required
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers at all."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and broker are fit, else 503; the body says what is wrong."""
    states = {
        "database": database_state(),
        "migrations": migrations_state(),
        "broker": broker_state(),
    }
    is_ready = set(states.values()) == {"ok"}
    return JsonResponse(states, status=200 if is_ready else 503)


def database_state() -> str:
    try:
        # A query, because this thread's connection may have been cut
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return f"cannot be reached: {type(error).__name__}. Is the server of DATABASE_URL up?"
    return "ok"


def migrations_state() -> str:
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "unknown: the database cannot be reached"
    if missing:
        return f"{len(missing)} not applied: run `manage.py migrate`"
    return "ok"


def broker_state() -> str:
    try:
        with app.connection_for_write(connect_timeout=BROKER_TIMEOUT_S) as broker:
            broker.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT_S)
    except (OperationalError, OSError) as error:
        return f"cannot be reached: {type(error).__name__}. Is the server of BROKER_URL up?"
    return "ok"
