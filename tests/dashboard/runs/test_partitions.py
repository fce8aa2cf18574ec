"""The data table's months exist before they are needed."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection, transaction

from dashboard.models import Datum, Job
from dashboard.results.services.ingest import ingest
from dashboard.runs.services.partitions import (
    ensure_coming_partitions,
    ensure_partitions,
    existing_partitions,
)
from tests.builders import site

pytestmark = pytest.mark.django_db


def test_a_month_is_created_once() -> None:
    moment = datetime(2031, 12, 31, 23, 59, tzinfo=UTC)
    assert ensure_partitions(moments=[moment, moment]) == ["dashboard_datum_2031_12"]
    assert ensure_partitions(moments=[moment]) == []


def test_the_next_months_partition_exists_in_december_too() -> None:
    created = ensure_coming_partitions(now=datetime(2032, 12, 5, tzinfo=UTC))
    assert created == ["dashboard_datum_2032_12", "dashboard_datum_2033_01"]


def test_a_late_result_finds_the_month_of_its_plan() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    Job.objects.update(planned_at=datetime(2024, 2, 29, 12, tzinfo=UTC))
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    assert "dashboard_datum_2024_02" in existing_partitions()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM dashboard_datum_2024_02")
        assert cursor.fetchone() == (Datum.objects.count(),)


def test_datum_outside_every_partition_is_an_error() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    with pytest.raises(IntegrityError, match="no partition"), transaction.atomic():
        Datum.objects.update(planned_at=datetime(1999, 1, 1, tzinfo=UTC))
