"""Artifacts in a bucket of S3, on a server of our own: stored, shown, deleted.

And what happens while the store does not answer.
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
from tests.builders.reading import text
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
    nobody = f"http://127.0.0.1:{free_port()}"
    use(settings, f"s3://{BUCKET}/site?endpoint_url={nobody}&region_name=us-east-1")


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


def test_artifact_is_stored_shown_downloaded_and_deleted_in_time(
    store: S3Server, sender: Sender, reader: Client
) -> None:
    assert sender.result().status_code == 200
    assert sender.artifact().status_code == 200
    assert store.keys() == [f"site/{Artifact.objects.get().file.name}"]
    assert "call()" in reader.get(f"/jobs/{sender.job.pk}/code/").text
    download = reader.get(f"/artifacts/{Artifact.objects.get().pk}/")
    assert b"".join(download) == CODE
    assert delete_expired(now=timezone.now() + LATE).artifacts == 1
    assert store.keys() == []


def test_file_sent_again_with_other_bytes_replaces_the_earlier_one(
    store: S3Server, sender: Sender
) -> None:
    sender.artifact(b"first")
    sender.artifact(b"second")
    assert Artifact.objects.get().file.read() == b"second"
    assert len(store.keys()) == 1


def test_file_of_an_attempt_that_no_longer_counts_is_not_stored(
    store: S3Server, sender: Sender
) -> None:
    assert sender.artifact(attempt=2).status_code == 409
    assert store.keys() == []


def test_without_the_store_results_are_stored_and_files_requested_again(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    lose(settings)
    assert sender.result().status_code == 200
    answer = sender.artifact()
    assert answer.status_code == 503
    assert "Send it again later" in answer.json()["detail"]
    assert site.reload(sender.job).state == JobState.DONE
    assert not Artifact.objects.exists()


def test_without_the_store_pages_say_why(
    store: S3Server, sender: Sender, reader: Client, settings: Any
) -> None:
    sender.result()
    sender.artifact()
    lose(settings)
    code = reader.get(f"/jobs/{sender.job.pk}/code/")
    assert code.status_code == 200
    assert "could not be asked (EndpointConnectionError)" in code.text
    download = reader.get(f"/artifacts/{Artifact.objects.get().pk}/")
    assert download.status_code == 503
    assert "could not be asked (EndpointConnectionError)" in download.text


def test_file_that_the_store_did_not_delete_stays_for_another_night(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    sender.artifact()
    lose(settings)
    assert delete_expired(now=timezone.now() + LATE).artifacts == 0
    assert Artifact.objects.exists()


def test_missing_bucket_is_reported_as_s3_names_it(
    store: S3Server, sender: Sender, settings: Any
) -> None:
    use(settings, f"s3://no-such-bucket?endpoint_url={store.url}&region_name=us-east-1")
    assert "NoSuchBucket" in sender.artifact().json()["detail"]


def test_page_says_that_a_missing_file_is_no_longer_kept(
    store: S3Server, sender: Sender, reader: Client
) -> None:
    sender.artifact()
    stored = Artifact.objects.get()
    stored.file.storage.delete(str(stored.file.name))
    assert "no longer kept" in reader.get(f"/jobs/{sender.job.pk}/code/").text
    assert reader.get(f"/artifacts/{stored.pk}/").status_code == 404


def test_fleet_page_says_that_artifacts_are_in_a_bucket(store: S3Server, reader: Client) -> None:
    assert "artifacts in S3" in text(reader, "/fleet/")


def test_without_an_address_files_are_in_a_folder() -> None:
    assert artifact_store.description("")["BACKEND"].endswith("FileSystemStorage")


def test_address_says_bucket_prefix_and_where() -> None:
    options = artifact_store.description("s3://bucket/some/place/?region_name=eu-west-1")["OPTIONS"]
    assert options == {
        "bucket_name": "bucket",
        "location": "some/place",
        "region_name": "eu-west-1",
    }


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("/var/files", "is '/var/files', which is not a bucket of S3"),
        ("s3://", "which is not a bucket of S3"),
        ("s3://key:secret@bucket", r"is 's3://…'"),
        ("s3://bucket?endpoint=x", "has the unknown option 'endpoint'"),
    ],
)
def test_wrong_address_is_refused_with_how_to_write_it(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        artifact_store.description(address)
