"""The detection queue: series with new data, marked in the transaction that wrote the data.

So no series is missed. The message only says that the queue is not empty: it may be lost, repeated
or late, because a beat task looks as well.
"""

import math
import threading
import time
from collections.abc import Collection

import structlog
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from dashboard.celery import app
from dashboard.language.metrics import METRICS

TASK = "dashboard.tasks.detect"
GATHER_S = 1.0  # within which results are gathered, to be judged together
# The other metrics are derived from these
ALERTING = [metric.key for metric in METRICS.values() if metric.alerts]
# In the order of the ids, so that two transactions never wait for each other.
_MARK = """
    INSERT INTO dashboard_detectorstate (series_id, version, state, due, updated_at)
    SELECT id, '', '{}', true, now()
    FROM dashboard_series
    WHERE id = ANY(%s) AND metric = ANY(%s)
    ORDER BY id
    ON CONFLICT (series_id) DO UPDATE SET due = true
"""

logger = structlog.get_logger(__name__)


def enqueue(*, series_ids: Collection[int], metrics: Collection[str] = ALERTING) -> None:
    """Have detection look at those of these series that can alert, once the transaction commits.

    metrics: of the ones that can: how a case ended is judged whatever the run's purpose.
    """
    with transaction.atomic(savepoint=False):
        if series_ids:
            with connection.cursor() as cursor:
                cursor.execute(_MARK, [list(series_ids), list(metrics)])
        transaction.on_commit(wake)


class Wakes:
    """Gate for messages to the dashboard worker: the first result sends one, and none of those that
    follow within GATHER_S, since it is delivered only then. Each message costs queries of its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due_at = -math.inf

    def is_first(self) -> bool:
        """Test whether no message of this process is under way; from now on one is."""
        now = time.monotonic()
        with self._lock:
            if now < self._due_at:
                return False
            self._due_at = now + GATHER_S
            return True

    def forget(self) -> None:
        """The message was not sent."""
        self._due_at = -math.inf


_wakes = Wakes()


def wake() -> None:
    """Notify the dashboard worker. With the broker down, the beat task finds what is due."""
    if not _wakes.is_first():
        return
    try:
        app.send_task(TASK, queue="dashboard", countdown=GATHER_S, expires=60)
    except (OperationalError, OSError) as error:
        _wakes.forget()
        logger.warning("broker unreachable, detection waits for it", error=str(error))
