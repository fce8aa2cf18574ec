"""Due series are judged by the batch: quiet ones together, and never by two processes at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from dashboard.alerts.services import detection
from dashboard.language.metrics import METRICS
from dashboard.models import Alert, DetectorState, Track
from tests.builders.alerting import measure, measured, noise

pytestmark = pytest.mark.django_db
MaxQueries = Callable[[int], AbstractContextManager[Any]]


def land_many(count: int) -> int:
    """New data in so many series, each of which has been judged before; how many are due."""
    for hour in (0, 1):
        metrics = [metric.key for metric in METRICS.values() if metric.alerts and metric.unit]
        measure(dict.fromkeys(metrics[:count], 2.0 + hour / 1000), hour)
        if not hour:
            detection.detect_due()
    return DetectorState.objects.filter(due=True).count()


@pytest.mark.parametrize("count", [2, 10])
def test_quiet_series_are_judged_in_as_many_queries_as_one(
    count: int, django_assert_max_num_queries: MaxQueries
) -> None:
    due = land_many(count)
    assert due > count
    with django_assert_max_num_queries(14):
        assert detection.detect_due() == due


@pytest.mark.django_db(transaction=True)
def test_series_that_another_process_judges_is_left_to_it() -> None:
    series = measured(noise(3))
    with ThreadPoolExecutor(1) as other, transaction.atomic():
        DetectorState.objects.select_for_update().get(pk=series.pk)
        in_parallel = other.submit(judge_due_in_a_thread)
        assert in_parallel.result(timeout=20) == 1  # the status
    assert DetectorState.objects.get(pk=series.pk).due


def judge_due_in_a_thread() -> int:
    try:
        return detection.detect_due()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_many_series_that_another_process_judges_take_no_query_each() -> None:
    due = land_many(10)
    with ThreadPoolExecutor(1) as other, transaction.atomic():
        assert len(DetectorState.objects.select_for_update()) >= due
        in_parallel = other.submit(queries_of_judging_in_a_thread)
        assert in_parallel.result(timeout=20) < due


def queries_of_judging_in_a_thread() -> int:
    with CaptureQueriesContext(connection) as queries:
        judge_due_in_a_thread()
    return len(queries)


@pytest.mark.django_db(transaction=True)
def test_alert_waits_for_the_one_that_another_process_raises_on_its_track() -> None:
    measured([1.5] * 10, metric="peak_memory_gb")
    series = measured([1.8], metric="peak_memory_gb", first=10)
    with ThreadPoolExecutor(1) as other, transaction.atomic():
        Track.objects.select_for_update(no_key=True).get(pk=series.track_id)
        in_parallel = other.submit(judge_without_waiting_in_a_thread, series.pk)
        assert isinstance(in_parallel.exception(timeout=20), OperationalError)
    assert not Alert.objects.exists()


def judge_without_waiting_in_a_thread(series_id: int) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        detection.detect(series_id=series_id)
    finally:
        connection.close()
