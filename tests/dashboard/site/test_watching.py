"""Metrics for Prometheus, fields of log lines, and the file that says that a program works."""

import logging
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import Delivery, RefusedResult, Worker
from dashboard.results.services import ingest
from dashboard.site import liveness, log_context
from dashboard.tasks import trigger_schedule
from tests.builders import notifications, site
from tests.builders.docker_files import ROOT, command
from tests.builders.people import viewer
from tests.builders.servers import address

BEARER = {"Authorization": "Bearer the-token"}


@pytest.fixture(autouse=True)
def token(settings: Any) -> None:
    settings.METRICS_TOKEN = "the-token"


def scrape() -> dict[tuple[str, ...], float]:
    """(name, label values …) -> value, parsed as Prometheus parses it."""
    answer = Client(headers=BEARER).get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    samples = (sample for family in families for sample in family.samples)
    return {
        (one.name.removeprefix("compilewatch_"), *sorted(one.labels.values())): one.value
        for one in samples
    }


@pytest.mark.django_db
def test_stranger_reads_no_metrics() -> None:
    assert Client().get("/metrics").status_code == 401


@pytest.mark.django_db
def test_wrong_token_reads_no_metrics() -> None:
    assert Client(headers={"Authorization": "Bearer another"}).get("/metrics").status_code == 401


@pytest.mark.django_db
def test_without_a_token_in_the_settings_an_empty_one_reads_nothing(settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert Client(headers={"Authorization": "Bearer "}).get("/metrics").status_code == 401


@pytest.mark.django_db
def test_signed_in_staff_reads_metrics(admin_client: Client) -> None:
    assert admin_client.get("/metrics").headers["Content-Type"].startswith("text/plain; version=")


@pytest.mark.django_db
def test_signed_in_user_without_staff_status_reads_no_metrics(
    client: Client, django_user_model: Any
) -> None:
    client.force_login(viewer("viewer"))
    assert client.get("/metrics").status_code == 401


@pytest.mark.django_db
def test_metrics_have_the_queue_of_each_machine() -> None:
    site.run(site.MLP, configs=["eager", "inductor"])
    site.queued_job()
    figures = scrape()
    assert figures["open_jobs", "cpu-2c", "planned"] == 2
    assert figures["open_jobs", "cpu-2c", "queued"] == 1


@pytest.mark.django_db
def test_metrics_have_the_age_of_the_oldest_job() -> None:
    job = site.queued_job()
    type(job).objects.update(planned_at=timezone.now() - timedelta(hours=2))
    assert scrape()["oldest_open_job_seconds", "cpu-2c", "queued"] == pytest.approx(7200, abs=60)


@pytest.mark.django_db
def test_metrics_have_the_states_of_the_last_days_jobs() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    ingest.ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(job, site.result(job)),
    )
    assert scrape()["jobs_planned_last_day", "cpu-2c", "done"] == 1


@pytest.mark.django_db
def test_metrics_have_the_ingest_lag() -> None:
    worker = site.worker()
    job = site.running_job(worker)
    ended = (timezone.now() - timedelta(minutes=5)).isoformat()
    ingest.ingest(
        job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job, finished_at=ended))
    )
    assert scrape()["ingest_lag_seconds",] == pytest.approx(300, abs=60)


@pytest.mark.django_db
def test_metrics_have_the_series_that_wait_for_detection() -> None:
    worker = site.worker()
    job = site.running_job(worker, purpose="scheduled")
    ingest.ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(job, site.result(job)),
    )
    figures = scrape()
    assert figures["detection_due_series",] >= 1
    assert 0 <= figures["detection_lag_seconds",] < 60


@pytest.mark.django_db
def test_metrics_have_the_age_of_each_heartbeat() -> None:
    site.worker("quick")
    Worker.objects.update(last_seen=timezone.now() - timedelta(seconds=90))
    assert scrape()["worker_heartbeat_age_seconds", "cpu-2c", "quick"] == pytest.approx(90, abs=30)


@pytest.mark.django_db
def test_full_disk_of_a_worker_is_a_figure() -> None:
    worker = site.worker()
    assert scrape()["worker_disk_full", "cpu-2c", "w1"] == 0
    Worker.objects.filter(pk=worker.pk).update(full_disk="The disk under / has 3 MB free.")
    assert scrape()["worker_disk_full", "cpu-2c", "w1"] == 1


@pytest.mark.django_db
def test_heartbeat_of_a_worker_that_never_reported_is_infinitely_old() -> None:
    site.worker("new")
    Worker.objects.update(last_seen=None)
    assert scrape()["worker_heartbeat_age_seconds", "cpu-2c", "new"] == float("inf")


@pytest.mark.django_db
def test_metrics_have_failed_deliveries() -> None:
    Delivery.objects.create(
        channel=notifications.channel(), state=Delivery.State.FAILED, next_at=timezone.now()
    )
    assert scrape()["deliveries", "failed"] == 1


@pytest.mark.django_db
def test_metrics_have_refused_results() -> None:
    RefusedResult.objects.create(source="w1", reason="no JSON", body=b"x")
    assert scrape()["refused_results_last_day",] == 1


@pytest.mark.django_db
def test_metrics_need_few_queries_for_any_amount_of_data(
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(3):
        site.run(site.MLP, site.GPT2, configs=["eager", "inductor"])
        site.worker(f"w{number}")
    with django_assert_max_num_queries(8):
        scrape()


@pytest.mark.django_db
def test_refused_claim_is_logged_with_its_job(
    caplog: pytest.LogCaptureFixture, monkeypatch: Any
) -> None:
    monkeypatch.setattr(log_context, "SLOW_S", 0.0)  # every request is told of
    caplog.set_level(logging.INFO)
    Client().post("/api/v1/worker/jobs/7f0c2ad8-0000-4000-8000-000000000000/claim")
    fields: Any = next(record.msg for record in caplog.records if "slow request" in str(record.msg))
    assert fields["job"] == "7f0c2ad8-0000-4000-8000-000000000000"
    assert fields["status"] == 401
    assert len(fields["request"]) == 12


@pytest.mark.parametrize(
    ("view", "arguments", "expected"),
    [
        ("run_cancel", {"pk": 7}, {"run": "7"}),
        ("job", {"uuid": "u"}, {"job": "u"}),
        ("alert_act", {"pk": 3, "name": "note"}, {"alert": "3"}),
        ("artifact", {"pk": 5}, {}),
        ("claim", {"job_id": "j"}, {"job": "j"}),
    ],
)
def test_ids_of_an_address_are_logged(
    view: str, arguments: dict[str, Any], expected: dict[str, str]
) -> None:
    assert log_context.ids(view, arguments) == expected


def test_log_lines_of_a_task_have_its_name_and_ids() -> None:
    log_context.begin_task(
        task_id="t1",
        task=trigger_schedule,
        args=[9],
        kwargs={},
    )
    carried = structlog.contextvars.get_contextvars()
    log_context.end_task(task=trigger_schedule)
    assert carried == {"task": "trigger_schedule", "task_id": "t1", "schedule": "9"}
    assert structlog.contextvars.get_contextvars() == {}


def test_file_is_touched_where_the_setting_names_one(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings.ALIVE_FILE = None
    liveness.touch_file()
    assert list(tmp_path.iterdir()) == []
    settings.ALIVE_FILE = tmp_path / "alive"
    liveness.touch_file()
    assert settings.ALIVE_FILE.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("target", ["dashboard-worker", "scheduler"])
def test_celery_program_shows_that_it_is_alive(
    target: str, broker: EmbeddedBroker, tmp_path: Path
) -> None:
    process = start(target, broker, tmp_path / "alive")
    try:
        deadline = time.monotonic() + 120
        while not (tmp_path / "alive").exists() and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.2)
        assert (tmp_path / "alive").exists()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def start(target: str, broker: EmbeddedBroker, alive_file: Path) -> subprocess.Popen[bytes]:
    """A program of the images with this test's broker and database."""
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "VAR_DIR": str(alive_file.parent),
        "SECRET_KEY": "only-for-this-test-0123456789-0123456789-0123456789",
        "DATABASE_URL": address(),
        "BROKER_URL": broker.url,
        "ALIVE_FILE": str(alive_file),
    }
    return subprocess.Popen(
        command(target),
        cwd=ROOT,
        env=variables,
        stderr=subprocess.DEVNULL,
    )
