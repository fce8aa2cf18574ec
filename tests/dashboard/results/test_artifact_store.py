"""Artifacts in a bucket of S3, on a server of our own: taken in, shown, deleted, and a store that
does not answer.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.models import Artifact, Job, JobState, Worker
from dashboard.results.core import artifact_store
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.services.retention import delete_expired
from dashboard.runs.services import fleet
from tests.builders import site
from tests.builders.archives import packed
from tests.builders.local_site import free_port
from tests.builders.s3 import BUCKET, CREDENTIALS, S3Server, s3_server

pytestmark = pytest.mark.django_db
LATE = timedelta(days=400)
CODE = packed({"wrapper/0000.py": "call()"})


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as started:
        yield started


@pytest.fixture
def store(server: S3Server, settings: Any, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The store of the site's settings, empty."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    server.make_bucket()
    use(settings, f"s3://{BUCKET}/site?endpoint_url={server.url}&region_name=us-east-1")
    return server


def use(settings: Any, address: str) -> None:
    settings.ARTIFACT_STORE = address
    settings.STORAGES = {**settings.STORAGES, "default": artifact_store.description(address)}


def lose(settings: Any) -> None:
    """From now on nobody listens where the store was."""
    use(
        settings,
        f"s3://{BUCKET}/site?endpoint_url=http://127.0.0.1:{free_port()}&region_name=us-east-1",
    )


class Sender:
    """A worker with a job, over the worker API."""

    def __init__(self, client: Client) -> None:
        made, token = fleet.add_worker(name="w1", machine=site.machine())
        fleet.hello(
            worker=made,
            boot_id=site.BOOT,
            device="cpu",
            facts={},
            catalog=site.catalog(),
            builds=[],
        )
        self.worker: Worker = made
        self.job: Job = site.running_job(made)
        self._client, self._headers = client, {"Authorization": f"Bearer {token}"}

    def result(self) -> Any:
        body = site.delivery(self.job, site.result(self.job))
        headers = {**self._headers, "Content-Encoding": "gzip"}
        return self._client.post(
            self._at("result"), body, content_type="application/json", headers=headers
        )

    def artifact(self, content: bytes = CODE, name: str = ARCHIVE, attempt: int = 1) -> Any:
        address = self._at(f"artifacts/{name}?attempt={attempt}")
        return self._client.put(
            address, content, content_type="application/octet-stream", headers=self._headers
        )

    def _at(self, what: str) -> str:
        return f"/api/v1/worker/jobs/{self.job.pk}/{what}"


@pytest.fixture
def sender(db: None) -> Sender:
    return Sender(Client())


def test_what_a_job_leaves_is_taken_in_shown_downloaded_and_deleted_in_time(
    store: S3Server, sender: Sender, reader: Client
) -> None:
    assert (sender.result().status_code, sender.artifact().status_code) == (200, 200)
    assert store.keys() == [f"site/{Artifact.objects.get().file.name}"]
    assert "call()" in reader.get(f"/jobs/{sender.job.pk}/code/").text
    download = reader.get(f"/artifacts/{Artifact.objects.get().pk}/")
    assert b"".join(download) == CODE
    assert delete_expired(now=timezone.now() + LATE).artifacts == 1
    assert store.keys() == []


def test_a_file_that_comes_again_with_other_bytes_takes_the_earlier_ones_place(
    store: S3Server, sender: Sender
) -> None:
    sender.artifact(b"first")
    sender.artifact(b"second")
    assert Artifact.objects.get().file.read() == b"second"
    assert len(store.keys()) == 1


def test_a_file_of_an_attempt_that_no_longer_counts_is_not_stored(
    store: S3Server, sender: Sender
) -> None:
    assert sender.artifact(attempt=2).status_code == 409
    assert store.keys() == []


def test_while_the_store_does_not_answer_numbers_land_and_files_are_asked_for_again(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    lose(settings)
    assert sender.result().status_code == 200
    answer = sender.artifact()
    assert (answer.status_code, "Send it again later" in answer.json()["detail"]) == (503, True)
    assert site.reload(sender.job).state == JobState.DONE
    assert not Artifact.objects.exists()


def test_while_the_store_does_not_answer_pages_say_so(
    store: S3Server, sender: Sender, reader: Client, settings: Any
) -> None:
    sender.result()
    sender.artifact()
    lose(settings)
    code, download = (
        reader.get(address)
        for address in (f"/jobs/{sender.job.pk}/code/", f"/artifacts/{Artifact.objects.get().pk}/")
    )
    assert (code.status_code, "could not be asked (EndpointConnectionError)" in code.text) == (
        200,
        True,
    )
    assert (
        download.status_code,
        "could not be asked (EndpointConnectionError)" in download.text,
    ) == (503, True)


def test_what_the_store_does_not_delete_is_deleted_another_night(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    sender.artifact()
    lose(settings)
    assert delete_expired(now=timezone.now() + LATE).artifacts == 0
    assert Artifact.objects.exists()


def test_a_bucket_that_is_not_there_is_named_by_what_s3_says(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    use(settings, f"s3://no-such-bucket?endpoint_url={store.url}&region_name=us-east-1")
    assert "NoSuchBucket" in sender.artifact().json()["detail"]


def test_a_file_that_is_gone_is_no_longer_kept(
    store: S3Server, sender: Sender, reader: Client
) -> None:
    sender.artifact()
    found = Artifact.objects.get()
    found.file.storage.delete(str(found.file.name))
    assert "no longer kept" in reader.get(f"/jobs/{sender.job.pk}/code/").text
    assert reader.get(f"/artifacts/{found.pk}/").status_code == 404


def test_the_fleet_page_says_that_files_lie_in_a_bucket(store: S3Server, reader: Client) -> None:
    assert "artifacts in S3" in reader.get("/fleet/").text


def test_without_an_address_files_lie_in_a_folder() -> None:
    assert artifact_store.description("")["BACKEND"].endswith("FileSystemStorage")


def test_an_address_says_bucket_prefix_and_where() -> None:
    options = artifact_store.description("s3://bucket/some/place/?region_name=eu-west-1")["OPTIONS"]
    assert options == {
        "bucket_name": "bucket",
        "location": "some/place",
        "region_name": "eu-west-1",
    }


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/var/files", "is '/var/files', which is not a bucket of S3"),
        ("s3://", "which is not a bucket of S3"),
        ("s3://key:secret@bucket", r"is 's3://…'"),
        ("s3://bucket?endpoint=x", "has the unknown option 'endpoint'"),
    ],
)
def test_an_address_that_cannot_be_is_refused_with_how_to_write_it(address: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        artifact_store.description(address)
