"""The fleet page: canaries, and the disk of the site and its workers."""

from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.selectors import canaries
from dashboard.models import InstalledEnvironment, Worker
from dashboard.results.services.ingest import ingest
from dashboard.runs.selectors import disk, fleet
from tests.builders import site
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db


def measure(worker: Worker, **values: float) -> None:
    job = site.running_job(worker)
    ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(job, site.result(job, values)),
    )


def workers() -> list[disk.WorkerDisk]:
    return disk.workers(fleet.machines(timezone.now()), fleet.environments())


def test_canary_shows_its_newest_value_and_change(reader: Client) -> None:
    worker = site.worker()
    for rate in (100.0, 90.0):
        measure(worker, matmul_ceiling_tflops=rate)
    (canary,) = canaries.last()
    assert canary.change
    assert canary.last.value == 90
    assert canary.change.text == "10.0% lower"
    assert canary.change.tone == "unknown"  # one process against one
    assert "10.0% lower" in page_text(reader.get("/fleet/"))


def test_waiting_and_running_jobs_are_shown_apart(reader: Client) -> None:
    worker, idle = site.worker(), site.worker("w2")
    job = site.running_job(worker)
    site.run(configs=["eager", "inductor"])
    (row,) = fleet.machines(timezone.now())
    assert row.waiting == 2
    assert {each.worker: each.job and each.job.uuid for each in row.workers} == {
        worker: str(job.pk),
        idle: None,
    }
    assert f"/jobs/{job.pk}/" in page_text(reader.get("/fleet/"))


def test_without_a_canary_the_page_says_what_measures_one(reader: Client) -> None:
    assert "A run of the family <code>machine</code> measures them" in page_text(
        reader.get("/fleet/")
    )


def test_without_a_worker_the_page_says_how_one_is_added(reader: Client) -> None:
    machine = site.machine()
    page = page_text(reader.get("/fleet/"))
    assert f"--machine {machine.key}</code> adds one" in page
    site.worker()
    page = page_text(reader.get("/fleet/"))
    assert "add_worker" not in page


def test_disk_of_environments_is_compared_with_its_limit(reader: Client) -> None:
    worker = site.worker()
    Worker.objects.filter(pk=worker.pk).update(
        facts={"environments_gb": 50, "disk_free_gb": 120.4, "disk_gb": 200}
    )
    for key, state in (("a", "ready"), ("b", "ready"), ("c", "evicted")):
        InstalledEnvironment.objects.create(
            worker=worker, key=key, build=site.build(), state=state, size_mb=5000
        )
    (row,) = workers()
    assert row.environments_gb == 10
    assert row.share == 20
    assert "120 of 200 GB" in page_text(reader.get("/fleet/"))


def test_full_disk_of_a_worker_is_shown_with_what_is_free(reader: Client) -> None:
    site.living_worker()
    Worker.objects.update(full_disk="The disk under /work has 3 MB free, and 1000 are needed")
    page = page_text(reader.get("/fleet/"))
    assert "</span> blocked" in page
    assert "The disk under /work has 3 MB free" in page
    assert "The disk under /work has 3 MB free" in page_text(reader.get("/"))


@pytest.mark.parametrize("address", ["/", "/fleet/", "/runs/{run}/"])
def test_worker_that_waits_for_its_device_says_who_has_it(reader: Client, address: str) -> None:
    site.living_worker()
    run = site.queued_job().run_id
    Worker.objects.update(device_holder="process 77 in /srv/other")
    page = page_text(reader.get(address.format(run=run)))
    assert "Waits for the device, held by process 77 in /srv/other." in page


def test_worker_without_disk_facts_is_shown_without(reader: Client) -> None:
    site.worker()
    assert workers()[0].free_gb is None
    assert reader.get("/fleet/").status_code == 200


def test_the_database_of_the_site_takes_disk() -> None:
    size = disk.of_site()
    assert size.total
    assert size.free
    assert 0 < size.database < size.total
    assert size.free <= size.total


def test_disk_of_the_site_is_in_the_units_of_the_workers(
    reader: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=79_000_000_000, total=271_000_000_000)
    monkeypatch.setattr("dashboard.runs.selectors.disk.shutil.disk_usage", lambda folder: usage)
    page = " ".join(page_text(reader.get("/fleet/")).split())
    assert "79.0 GB <small>of 271.0 GB</small>" in page


def test_the_live_part_asks_for_neither(reader: Client) -> None:
    assert '<h2 id="canaries"' in page_text(reader.get("/fleet/", headers={"HX-Request": "true"}))
    assert "The site <small>" not in page_text(
        reader.get("/fleet/", headers={"HX-Request": "true"})
    )
