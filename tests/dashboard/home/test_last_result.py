"""Home says when the last result landed."""

from datetime import UTC, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.language.moments import stamp
from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def test_last_result_is_when_it_landed_and_not_when_it_was_planned(reader: Client) -> None:
    worker = site.worker()
    job = site.running_job(worker, planned_at=timezone.now() - timedelta(hours=1))
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    landed = site.reload(job).finished_at
    assert landed is not None
    assert f"{stamp(landed.astimezone(UTC))}</time>.</p>" in text(reader, "/")
