"""Environments: what a claim says of a job's, and what workers report of theirs."""

from typing import Any

import pytest
from django.test import Client

from dashboard.catalog.core.pins import newest_set
from dashboard.catalog.services.builds import add_variant
from dashboard.language.contracts import Refused
from dashboard.models import InstalledEnvironment, Job, Requirements, TorchBuild, Worker
from dashboard.results.services.ingest import ingest
from dashboard.runs.services import fleet
from dashboard.runs.services.environments import (
    environment_for,
    keep_requirements,
    record_environments,
)
from dashboard.runs.services.leases import Stale
from tests.builders import site

pytestmark = pytest.mark.django_db
CPU = "linux_x86_64-cp311-cpu"
PINNED = "numpy==2.4.6\ntorch==2.11.0\n"


@pytest.fixture
def worker() -> Worker:
    made = site.worker()
    made.facts = {"platform": CPU}
    made.save()
    return made


def build(version: str = "2.11.0") -> TorchBuild:
    return TorchBuild.objects.get_or_create(label=version, defaults={"version": version})[0]


def job_on(worker: Worker, of: TorchBuild, **run: Any) -> Job:
    """A job on this build that the worker has claimed."""
    claimed = site.running_job(worker, build=of.label)
    type(claimed.run).objects.filter(pk=claimed.run_id).update(**run)
    return site.reload(claimed)


def keep(job: Job, worker: Worker, text: str = PINNED, **other: Any) -> str:
    fields: dict[str, Any] = {
        "attempt": 1,
        "platform": CPU,
        **other,
    }
    return keep_requirements(
        job_id=job.pk,
        worker=worker,
        text=text,
        **fields,
    )


def report(state: str, key: str = "torch-2.11.0-1", **other: Any) -> dict[str, Any]:
    return {
        "key": key,
        "build": build().label,
        "state": state,
        **other,
    }


def test_a_claim_names_torch_and_the_newest_libraries_it_takes(worker: Worker) -> None:
    environment = environment_for(job=job_on(worker, build()), worker=worker)
    assert environment["build"] == "2.11.0"
    assert environment["version"] == "2.11.0"
    assert environment["requirements"] is None
    assert environment["packages"][0] == "torch==2.11.0"
    assert f"transformers=={newest_set('2.11.0')['transformers']}" in environment["packages"]
    # An interpreter that a worker has adopted serves whatever libraries it has
    assert environment["libraries"] == {}


def test_libraries_of_a_run_are_requested_by_version(worker: Worker) -> None:
    job = job_on(worker, build(), libraries={"transformers": "4.57.6"})
    environment = environment_for(job=job, worker=worker)
    assert environment["libraries"] == {"transformers": "4.57.6"}
    assert environment["packages"][:2] == ["torch==2.11.0", "transformers==4.57.6"]


def test_model_of_the_field_gets_the_libraries_of_its_family(worker: Worker) -> None:
    job = job_on(worker, build())
    job.benchmark.family = "field-torchvision"
    environment = environment_for(job=job, worker=worker)
    assert environment["libraries"] == {"torchvision": "0.26.0"}
    assert {"torchvision==0.26.0", "transformers==5.23.0"} <= set(environment["packages"])


def test_a_variant_runs_in_the_environment_of_its_base(worker: Worker) -> None:
    variant = add_variant(base=build(), name="one", env={"TORCH_X": "1"})
    assert environment_for(job=job_on(worker, variant), worker=worker)["build"] == "2.11.0"


def test_build_without_pins_is_installed_without_libraries(worker: Worker) -> None:
    environment = environment_for(job=job_on(worker, build("2.0.1")), worker=worker)
    assert environment["packages"] == ["torch==2.0.1", "setuptools<82"]


def test_the_first_pinned_set_counts_for_every_later_job(worker: Worker) -> None:
    first, second = (job_on(worker, build()) for _ in range(2))
    assert keep(first, worker) == PINNED
    assert keep(second, worker, "torch==2.11.0\n") == PINNED
    assert environment_for(job=second, worker=worker)["requirements"] == PINNED
    assert set(Job.objects.values_list("requirements__text", flat=True)) == {PINNED}


def test_each_platform_and_library_set_has_its_own_pinned_set(worker: Worker) -> None:
    keep(job_on(worker, build()), worker)
    keep(job_on(worker, build()), worker, platform="linux_x86_64-cp311-cuda")
    keep(job_on(worker, build(), libraries={"numpy": "1.26.4"}), worker)
    assert Requirements.objects.count() == 3


def test_only_the_current_attempt_may_pin_requirements(worker: Worker) -> None:
    with pytest.raises(Stale):
        keep(job_on(worker, build()), worker, attempt=2)
    with pytest.raises(Stale):
        keep(job_on(worker, build()), site.worker("w2"))


@pytest.mark.parametrize(
    "line",
    [
        "--index-url http://elsewhere",
        "torch @ http://elsewhere/t.whl",
        "-e .",
        "torch>=2",
        "torch==2 ; x",
        "torch[x]==2",
        "torch==2\r--index-url http://elsewhere",
        "torch==2\x0b--index-url=http://elsewhere",
        "",
    ],
)
def test_a_line_that_could_install_from_elsewhere_is_refused(worker: Worker, line: str) -> None:
    with pytest.raises(Refused, match="requirements"):
        keep(job_on(worker, build()), worker, f"numpy==1.0\n{line}\n" if line else "")
    assert not Requirements.objects.exists()


def test_reported_environment_is_stored_under_its_key(worker: Worker) -> None:
    for state in ("building", "ready"):
        record_environments(worker=worker, environments=[report(state, size_mb=3400)])
    row = InstalledEnvironment.objects.get()
    assert row.worker == worker
    assert row.build == build()
    assert row.state == "ready"
    assert row.size_mb == 3400


def test_ready_environment_fills_in_facts_of_its_build(worker: Worker) -> None:
    facts = {"git_sha": "abc", "cuda": "13.0", "triton": ""}
    record_environments(worker=worker, environments=[report("ready", facts=facts)])
    described = build()
    assert described.git_sha == "abc"
    assert described.cuda == "13.0"
    assert described.triton == ""


def test_starting_worker_reports_all_its_environments(worker: Worker) -> None:
    before = [
        report("ready", "kept"),
        report("ready", "gone"),
        report("building", "half"),
    ]
    record_environments(worker=worker, environments=before)
    record_environments(
        worker=worker,
        environments=[report("ready", "kept")],
        complete=True,
    )
    states = dict(InstalledEnvironment.objects.values_list("key", "state"))
    assert states == {"kept": "ready", "gone": "evicted", "half": "failed"}


def test_environments_of_unknown_builds_are_left_out(worker: Worker) -> None:
    record_environments(
        worker=worker, environments=[{**report("ready"), "build": "another site's"}]
    )
    assert not InstalledEnvironment.objects.exists()


def test_worker_api_reaches_the_environments() -> None:
    worker, token = fleet.add_worker(name="w9", machine=site.machine())
    client = Client(headers={"Authorization": f"Bearer {token}"})

    def post(path: str, **body: Any) -> Any:
        return client.post(f"/api/v1/worker/{path}", body, content_type="application/json")

    site.build()
    hello = {
        "boot_id": site.BOOT,
        "device": "cpu",
        "facts": {"platform": CPU},
        "catalog": site.catalog(),
    }
    adopted = {
        "key": "adopted-1",
        "build": site.BUILD,
        "state": "ready",
        "adopted": True,
    }
    assert post("hello", **hello, environments=[adopted]).status_code == 200
    job = site.queued_job(build=build().label)
    claimed = post(f"jobs/{job.pk}/claim", attempt=1, boot_id=site.BOOT).json()
    assert claimed["environment"]["packages"][0] == "torch==2.11.0"
    pinned = {"attempt": 1, "platform": CPU, "text": PINNED}
    assert post(f"jobs/{job.pk}/requirements", **pinned).json() == {"text": PINNED}
    assert post(f"jobs/{job.pk}/requirements", **{**pinned, "text": "-e ."}).status_code == 422
    assert post("environments", environments=[report("ready")]).json() == {"noted": 1}
    assert post("environments", environments=[report("perfect")]).status_code == 422
    assert set(worker.environments.values_list("state", "adopted")) == {
        ("ready", True),
        ("ready", False),
    }


def test_the_jobs_page_shows_what_was_installed_for_it(
    worker: Worker, admin_client: Client
) -> None:
    job = job_on(worker, build())
    keep(job, worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    assert PINNED in admin_client.get(job.get_absolute_url()).text
