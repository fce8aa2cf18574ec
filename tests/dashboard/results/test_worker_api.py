"""The worker API over HTTP, as docs/architecture.md has it."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from dashboard.catalog.core.plan import PlanError
from dashboard.catalog.selectors.lookups import find_track
from dashboard.models import (
    Artifact,
    Benchmark,
    Config,
    Job,
    RefusedResult,
    Run,
    TorchBuild,
    Worker,
)
from dashboard.runs.services import fleet
from dashboard.runs.services.runs import cancel_run
from tests.builders import site
from tests.builders.full_disk import full_disk

pytestmark = pytest.mark.django_db
API = "/api/v1/worker/"


class Api:
    """Calls with the token of one worker."""

    def __init__(self, token: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {token}"})

    def post(self, path: str, body: Any) -> Any:
        return self.client.post(API + path, body, content_type="application/json")

    def put(self, path: str, body: bytes) -> Any:
        return self.client.put(API + path, body, content_type="application/octet-stream")

    def hello(self, boot_id: str = site.BOOT, **other: Any) -> Any:
        body = {
            "boot_id": boot_id,
            "device": "cpu",
            "facts": {"host": "h"},
            "catalog": site.catalog(),
            "builds": [],
        }
        return self.post("hello", {**body, **other})


@pytest.fixture
def api() -> Api:
    """A worker w1 of machine cpu-2c that has said hello."""
    _, token = fleet.add_worker(name="w1", machine=site.machine())
    connected = Api(token)
    assert connected.hello().status_code == 200
    return connected


def claimed(api: Api) -> Job:
    job = site.queued_job()
    assert api.post(f"jobs/{job.pk}/claim", {"attempt": 1, "boot_id": site.BOOT}).status_code == 200
    return site.reload(job)


def test_hello_gives_the_worker_its_queue_and_stores_its_catalog(api: Api) -> None:
    build = {"label": "2.14.0+cpu", "version": "2.14.0", "adopted": True}
    answer = api.hello(builds=[build]).json()
    assert answer["queue"] == "machine.cpu-2c"
    assert answer["own_queue"] == "machine.cpu-2c.w1"
    assert Worker.objects.get().facts == {"host": "h"}
    assert site.build("2.14.0+cpu").adopted


def test_wrong_token_is_401() -> None:
    assert Api("nobody's").hello().status_code == 401


def test_revoked_token_is_401(api: Api) -> None:
    fleet.revoke_token(worker=Worker.objects.get())
    assert api.hello().status_code == 401


def test_alive_of_a_process_that_has_not_said_hello_is_409(api: Api) -> None:
    answer = api.post("alive", {"boot_id": site.BOOT})
    assert answer.json() == {"paused": False, "repositories": []}
    assert api.post("alive", {"boot_id": "other"}).status_code == 409


@pytest.mark.parametrize("full_disk", ["The disk under / has 3 MB free.", ""])
def test_full_disk_is_noted_with_hello_and_alive(api: Api, full_disk: str) -> None:
    api.hello(full_disk="The disk under /tmp has 3 MB free.")
    assert Worker.objects.get().full_disk == "The disk under /tmp has 3 MB free."
    api.post("alive", {"boot_id": site.BOOT, "full_disk": full_disk})
    assert Worker.objects.get().full_disk == full_disk


def test_job_is_handed_back_without_counting(api: Api) -> None:
    job = claimed(api)
    answer = api.post(f"jobs/{job.pk}/hand-back", {"attempt": 1, "counts": False})
    assert answer.json() == {"state": "queued"}
    assert site.reload(job).max_attempts == job.max_attempts + 1


def test_claim_brings_the_job_file(api: Api) -> None:
    job = site.queued_job()
    answer = api.post(f"jobs/{job.pk}/claim", {"attempt": 1, "boot_id": site.BOOT}).json()
    assert answer["job"]["job_id"] == str(job.pk)
    assert answer["job"]["attempt"] == 1
    assert answer["timeout_s"] == 900


def test_claim_of_a_job_that_does_not_exist_is_409(api: Api) -> None:
    gone = "00000000-0000-4000-8000-000000000000"
    answer = api.post(f"jobs/{gone}/claim", {"attempt": 1, "boot_id": site.BOOT})
    assert answer.status_code == 409
    assert "There is no job" in answer.json()["detail"]


def test_worker_that_waits_for_its_device_learns_of_the_cancellation(api: Api) -> None:
    job = site.queued_job()
    claim = {"attempt": 1, "boot_id": site.BOOT}
    answer = api.post(f"jobs/{job.pk}/waiting", claim).json()
    assert answer == {"state": "queued", "expected_s": None}
    cancel_run(run=job.run)
    assert api.post(f"jobs/{job.pk}/waiting", claim).status_code == 409


def test_holder_of_the_device_is_noted_until_the_job_is_claimed(api: Api) -> None:
    job = site.queued_job()
    claim = {"attempt": 1, "boot_id": site.BOOT}
    api.post(f"jobs/{job.pk}/waiting", {**claim, "held_by": "process 77 in /srv/other"})
    assert Worker.objects.get().device_holder == "process 77 in /srv/other"
    api.post(f"jobs/{job.pk}/claim", claim)
    assert Worker.objects.get().device_holder == ""


def test_holder_of_the_device_is_forgotten_with_a_job_that_is_cancelled(api: Api) -> None:
    job = site.queued_job()
    waiting = {"attempt": 1, "boot_id": site.BOOT, "held_by": "process 77"}
    api.post(f"jobs/{job.pk}/waiting", waiting)
    cancel_run(run=job.run)
    api.post(f"jobs/{job.pk}/waiting", waiting)
    assert Worker.objects.get().device_holder == ""


def test_heartbeat_learns_of_the_cancellation(api: Api) -> None:
    job = claimed(api)
    beat = {"attempt": 1, "phase": "starts", "log_tail": ""}
    assert api.post(f"jobs/{job.pk}/heartbeat", beat).json() == {"cancel": False}
    cancel_run(run=job.run)
    assert api.post(f"jobs/{job.pk}/heartbeat", beat).json() == {"cancel": True}


def test_result_is_stored_and_the_same_body_gets_the_same_answer(api: Api) -> None:
    job = claimed(api)
    body = site.delivery(job, site.result(job))
    for _ in range(2):
        answer = api.post(f"jobs/{job.pk}/result", body)
        assert answer.status_code == 200
        assert answer.json() == {"state": "done"}


def test_result_far_above_djangos_limit_for_forms_is_stored(api: Api) -> None:
    job = claimed(api)
    values = [number / 7 for number in range(200_000)]
    samples = {"eager": {"unit": "ms", "values": values}}
    body = gzip.decompress(site.delivery(job, site.result(job, samples=samples)))
    assert len(body) > 2_500_000
    assert api.post(f"jobs/{job.pk}/result", body).status_code == 200


def test_result_that_breaks_the_contract_is_422_with_the_place(api: Api) -> None:
    job = claimed(api)
    body = site.delivery(job, site.result(job, status="great"))
    answer = api.post(f"jobs/{job.pk}/result", body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith('result.status: "great" is not one of')


def test_body_over_the_limit_is_413_and_its_beginning_kept(api: Api, settings: Any) -> None:
    job = claimed(api)
    settings.RESULT_LIMIT_BYTES = 1000
    assert api.post(f"jobs/{job.pk}/result", b"x" * 5000).status_code == 413
    assert len(RefusedResult.objects.get().body) == 1001


def test_result_for_an_unknown_job_is_422_and_not_kept(api: Api) -> None:
    gone = "00000000-0000-4000-8000-000000000000"
    assert api.post(f"jobs/{gone}/result", site.pack({})).status_code == 422
    assert not RefusedResult.objects.exists()


def test_artifact_is_kept_once(api: Api) -> None:
    job = claimed(api)
    address = f"jobs/{job.pk}/artifacts/code.py?attempt=1"
    first, again = (api.put(address, b"print()").json() for _ in range(2))
    assert first == again == {"digest": Artifact.objects.get().digest}
    assert Artifact.objects.get().file.read() == b"print()"


def test_artifact_is_stored_after_the_result_as_well(api: Api) -> None:
    job = claimed(api)
    api.post(f"jobs/{job.pk}/result", site.delivery(job, site.result(job)))
    assert api.put(f"jobs/{job.pk}/artifacts/code.py?attempt=1", b"print()").status_code == 200


def test_artifact_on_a_full_disk_is_503_and_stored_when_there_is_room(
    api: Api, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    address = f"jobs/{claimed(api).pk}/artifacts/code.py?attempt=1"
    with full_disk(room_bytes=4096):
        answer = api.put(address, b"x" * 100_000)
    assert answer.status_code == 503
    assert "code.py cannot be stored now" in answer.json()["detail"]
    assert not Artifact.objects.exists()
    assert api.put(address, b"x" * 100_000).status_code == 200
    assert Artifact.objects.get().file.size == 100_000


def test_artifact_of_another_attempt_is_409(api: Api) -> None:
    assert api.put(f"jobs/{claimed(api).pk}/artifacts/code.py?attempt=2", b"x").status_code == 409


@pytest.mark.parametrize("name", ["..%2fx", ".hidden", "a" * 101])
def test_artifacts_name_cannot_be_a_path(api: Api, name: str) -> None:
    answer = api.put(f"jobs/{claimed(api).pk}/artifacts/{name}?attempt=1", b"x")
    assert answer.status_code in {404, 422}
    assert not Artifact.objects.exists()


def test_artifact_over_the_limit_is_413(api: Api, settings: Any) -> None:
    settings.ARTIFACT_LIMIT_BYTES = 10
    assert api.put(f"jobs/{claimed(api).pk}/artifacts/a?attempt=1", b"x" * 11).status_code == 413


@pytest.mark.parametrize("body", [b"{", b'{"boot_id": NaN}', b"[]", b'{"boot_id": 5}', b"\xff"])
def test_malformed_body_is_refused_for_good(api: Api, body: bytes) -> None:
    answer = api.post("alive", body)
    assert answer.status_code in {400, 422}
    assert answer.json()["detail"]


def test_catalog_that_cannot_be_stored_is_422_with_the_place(api: Api) -> None:
    catalog = {"benchmarks": [{"name": "x"}], "configs": []}
    answer = api.hello(catalog=catalog)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("catalog.benchmarks[0] (x) lacks version, m")


def offering(**fields: Any) -> dict[str, Any]:
    """A catalog of the MLP alone, with other fields."""
    return {"benchmarks": [{**site.describe(site.MLP, "toy"), **fields}], "configs": []}


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "=evil.smoke.inference.float32.static.b1"},
        {"name": "a/b.smoke.inference.float32.static.b1"},
        {"default_configs": "x"},
        {"default_configs": ["a b"]},
        {"family": {"a": 1}},
    ],
)
def test_benchmark_that_no_job_file_could_name_is_refused(api: Api, fields: dict[str, Any]) -> None:
    answer = api.hello(catalog=offering(**fields))
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(f"catalog.benchmarks[0].{next(iter(fields))}")


@pytest.mark.parametrize("fields", [{"label": ["a"]}, {"version": {"a": 1}}, {"git_sha": 5}])
def test_build_with_a_field_of_another_type_is_refused(api: Api, fields: dict[str, Any]) -> None:
    answer = api.hello(builds=[{"label": "2.13.0", "version": "2.13.0", **fields}])
    assert answer.status_code == 422


def test_workers_of_another_machine_add_to_the_catalog_and_rewrite_nothing(api: Api) -> None:
    _, token = fleet.add_worker(name="w2", machine=site.machine("other"))
    stranger = Api(token)
    catalog = offering(family="evil")
    catalog["benchmarks"].append(site.describe("new.smoke.inference.float32.static.b1", "toy"))
    catalog["configs"] = [{"name": "eager", "label": "Evil"}]
    assert stranger.hello(catalog=catalog).status_code == 200
    assert Benchmark.objects.get(name=site.MLP).family == "toy"
    assert Config.objects.get(name="eager").label == "Eager"
    assert Benchmark.objects.filter(name__startswith="new.").exists()


def test_worker_describes_again_what_its_own_machine_brought(api: Api) -> None:
    api.hello(catalog=offering(version=2))
    assert Benchmark.objects.get(name=site.MLP).version == 2


def test_what_a_machine_brought_is_described_by_another_once_its_workers_are_gone(
    api: Api,
) -> None:
    _, token = fleet.add_worker(name="w2", machine=site.machine("other"))
    fleet.revoke_token(worker=Worker.objects.get(name="w1"))
    Api(token).hello(catalog=offering(version=2))
    assert Benchmark.objects.get(name=site.MLP).version == 2


def test_build_is_filled_in_and_not_rewritten(api: Api) -> None:
    for sha in ("", "abc", "evil"):
        api.hello(builds=[{"label": "2.13.0", "version": "2.13.0", "git_sha": sha}])
    assert TorchBuild.objects.get(label="2.13.0").git_sha == "abc"


def test_environment_used_at_the_edge_of_time_is_refused(api: Api) -> None:
    environment = {"key": "k", "build": site.BUILD, "state": "ready"}
    environment["last_used"] = "0001-01-01T00:00:00+23:59"
    assert api.post("environments", {"environments": [environment]}).status_code == 422


def test_number_that_nothing_measures_is_refused(api: Api) -> None:
    job = claimed(api)
    result = site.result(job, {"latency_ms": 1e308})
    assert api.post(f"jobs/{job.pk}/result", site.delivery(job, result)).status_code == 422


def test_first_run_of_a_fresh_site_needs_a_worker_and_nothing_else() -> None:
    _, token = fleet.add_worker(name="w1", machine=site.machine())
    with pytest.raises(PlanError, match="There is no track yet"):
        find_track("local")
    Api(token).hello(builds=[{"label": site.BUILD, "version": site.BUILD, "adopted": True}])
    call_command("trigger_run", build=site.BUILD, machine="cpu-2c")
    assert Run.objects.get().jobs.count() == 4


def test_track_of_a_person_is_left_where_it_stands(api: Api) -> None:
    track = site.track()
    api.hello(builds=[{"label": "2.14.0+cpu", "version": "2.14.0+cpu"}])
    track.refresh_from_db()
    assert track.build == site.build()


def test_page_of_a_site_without_results_counts_its_workers(api: Api, admin_client: Client) -> None:
    page = admin_client.get("/").content.decode()
    assert "1 of 1 now is." in " ".join(page.split())
    assert "None has signed in" not in page
