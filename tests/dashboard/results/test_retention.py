"""Retention: raw samples and artifacts go after a time, results and data stay."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone

from dashboard.models import Artifact, Datum, Job, RefusedResult, Result, Samples
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.services import artifacts, ingest
from dashboard.results.services.retention import delete_expired
from tests.builders import alerting, site
from tests.builders.archives import packed

pytestmark = pytest.mark.django_db
SOON = timedelta(days=89)
LATE = timedelta(days=91)


@pytest.fixture
def job(settings: Any, tmp_path: Any) -> Job:
    """A job that was measured now and left an artifact."""
    settings.MEDIA_ROOT, settings.KEEP_ARTIFACTS_DAYS = tmp_path, 90
    worker = site.worker()
    made = site.running_job(worker)
    body = site.delivery(made, site.result(made))
    ingest.ingest(job_id=made.pk, worker=worker, body=body)
    artifacts.store_artifact(
        job_id=made.pk, attempt=1, worker=worker, name="code.zip", content=b"code"
    )
    return made


def test_within_their_time_nothing_is_deleted(job: Job) -> None:
    assert delete_expired(now=timezone.now() + SOON) == (0, 0)
    assert Artifact.objects.get().file.read() == b"code"


def test_raw_samples_and_artifacts_are_deleted_and_results_and_data_stay(job: Job) -> None:
    stored = Artifact.objects.get().file
    assert delete_expired(now=timezone.now() + LATE) == (1, 1)
    assert not Samples.objects.exists()
    assert not Artifact.objects.exists()
    assert not stored.storage.exists(str(stored.name))
    assert Result.objects.filter(job=job).exists()
    assert Datum.objects.filter(job=job).exists()


def test_zero_days_keep_for_ever(job: Job, settings: Any) -> None:
    settings.KEEP_SAMPLES_DAYS = settings.KEEP_ARTIFACTS_DAYS = 0
    assert delete_expired(now=datetime(2099, 1, 1, tzinfo=UTC)) == (0, 0)


def test_refused_results_are_kept_for_a_month() -> None:
    RefusedResult.objects.create(source="w1", reason="no JSON", body=b"x")
    delete_expired(now=timezone.now() + timedelta(days=29))
    assert RefusedResult.objects.exists()
    delete_expired(now=timezone.now() + timedelta(days=31))
    assert not RefusedResult.objects.exists()


@pytest.fixture
def measured(settings: Any, tmp_path: Any) -> list[Job]:
    """Six nights of one series: all left samples, and all but the fourth the code that they ran."""
    settings.MEDIA_ROOT = tmp_path
    series = alerting.measured([2.0, 2.0, 2.0, 2.2, 2.2, 2.2])
    jobs = [datum.job for datum in series.data.select_related("job").order_by("planned_at")]
    for night in (0, 1, 2, 4, 5):
        code = ContentFile(packed({"wrapper/0000.py": f"call(block_size={night})"}), "x")
        Artifact.objects.create(
            job=jobs[night],
            name=ARCHIVE,
            file=code,
            size_bytes=1,
            digest="0",
        )
    return jobs


def test_what_an_alert_points_at_stays_on_both_sides_of_its_change(measured: list[Job]) -> None:
    alerting.alert(alerting.group(), planned_at=measured[3].planned_at, job=measured[3])
    delete_expired(now=datetime(2099, 1, 1, tzinfo=UTC))
    with_code = set(Artifact.objects.values_list("job", flat=True))
    assert with_code == {measured[2].pk, measured[4].pk}
    with_samples = set(Samples.objects.values_list("job", flat=True))
    assert with_samples == {job.pk for job in measured[2:5]}


def test_page_of_an_old_alert_still_shows_how_the_code_differs(
    measured: list[Job], reader: Client
) -> None:
    group = alerting.group()
    alerting.alert(group, planned_at=measured[3].planned_at, job=measured[3])
    delete_expired(now=datetime(2099, 1, 1, tzinfo=UTC))
    page = reader.get(f"/alerts/{group.pk}/code/").text
    assert ">call(block_size=2)</td>" in page
    assert ">call(block_size=4)</td>" in page


def test_without_an_alert_everything_is_deleted(measured: list[Job]) -> None:
    delete_expired(now=datetime(2099, 1, 1, tzinfo=UTC))
    assert not Artifact.objects.exists()
    assert not Samples.objects.exists()
