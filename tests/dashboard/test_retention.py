"""What is kept for a time only: raw samples and artifacts go, results and data stay."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.models import Artifact, Datum, Job, Result, Samples
from dashboard.services import artifacts, ingest
from dashboard.services.retention import forget_old
from tests.builders import site

pytestmark = pytest.mark.django_db
SOON = timedelta(days=89)
LATE = timedelta(days=91)


@pytest.fixture
def job(settings: Any, tmp_path: Any) -> Job:
    """A job that was measured now and left an artifact."""
    settings.MEDIA_ROOT, settings.KEEP_ARTIFACTS_DAYS = tmp_path, 90
    worker = site.worker()
    made = site.running_job(worker)
    ingest.ingest(job_id=made.pk, worker=worker, body=site.delivery(made, site.result(made)))
    artifacts.store_artifact(job_id=made.pk, attempt=1, worker=worker, name="code.zip", content=b"code")
    return made


def test_within_their_time_nothing_is_deleted(job: Job) -> None:
    assert forget_old(now=timezone.now() + SOON) == (0, 0)
    assert Artifact.objects.get().file.read() == b"code"


def test_raw_samples_and_artifacts_go_and_results_and_data_stay(job: Job) -> None:
    stored = Artifact.objects.get().file
    assert forget_old(now=timezone.now() + LATE) == (1, 1)
    assert (Samples.objects.count(), Artifact.objects.count()) == (0, 0)
    assert not stored.storage.exists(str(stored.name))
    assert Result.objects.filter(job=job).exists()
    assert Datum.objects.filter(job=job).exists()


def test_zero_days_keep_for_ever(job: Job, settings: Any) -> None:
    settings.KEEP_SAMPLES_DAYS = settings.KEEP_ARTIFACTS_DAYS = 0
    assert forget_old(now=datetime(2099, 1, 1, tzinfo=UTC)) == (0, 0)
