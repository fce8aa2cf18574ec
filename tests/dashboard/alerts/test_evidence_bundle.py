"""The archive of an alert's evidence: what lies in it, what does not and why, and its limit."""

import io
import json
import zipfile
from typing import Any
from uuid import UUID

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from dashboard.alerts.core.evidence_bundle import (
    BundleFile,
    Missing,
    pack,
    public_environment,
)
from dashboard.alerts.services import confirmations
from dashboard.models import AlertGroup, Artifact, Job
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.compile_diff import CALLS
from tests.builders.archives import packed
from tests.builders.call_tables import compilation
from tests.builders.confirmations import answer, by_build, living_worker, suspected


def file(name: str, body: bytes) -> BundleFile:
    return BundleFile(name, "a file", "", lambda: body)


def archive(*files: BundleFile, limit: int = 2**20) -> tuple[zipfile.ZipFile, list[Missing]]:
    target = io.BytesIO()
    missing = pack(target, files, [], {"alert": "1"}, limit)
    return zipfile.ZipFile(target), missing


def manifest(of: zipfile.ZipFile) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(of.read("MANIFEST.json"))
    return document


def test_manifest_lists_what_the_archive_has() -> None:
    packed_files, _ = archive(file("a.txt", b"abc"))
    [entry] = manifest(packed_files)["files"]
    assert (entry["name"], entry["bytes"]) == ("a.txt", 3)


def test_file_that_does_not_fit_is_named_as_missing() -> None:
    large = file("large.bin", bytes(range(256)) * 4096)
    packed_files, missing = archive(large, file("small.txt", b"abc"), limit=500_000)
    assert packed_files.namelist() == ["small.txt", "MANIFEST.json"]
    assert [each.what for each in missing] == ["large.bin"]
    assert "EVIDENCE_LIMIT_MIB" in manifest(packed_files)["missing"][0]["why"]


def test_file_that_is_gone_is_named_as_missing() -> None:
    def read() -> bytes:
        raise OSError("The code of job 1 is no longer kept.")

    packed_files, missing = archive(BundleFile("base/code", "code", "1", read))
    assert missing == [Missing("base/code", "The code of job 1 is no longer kept.")]
    assert packed_files.namelist() == ["MANIFEST.json"]


def test_environment_loses_the_names_of_machine_and_device() -> None:
    environment = {"machine": {"host": "secret", "device_id": "GPU-1", "gpu": "H100"}}
    assert public_environment(environment) == {"machine": {"gpu": "H100"}}


# --- Of a measured alert


@pytest.fixture
def confirmed() -> AlertGroup:
    living_worker()
    group = suspected()
    confirmations.start_due(now=group.created_at)
    answer(by_build(10))
    return group


def leave(job: Job, name: str, content: bytes) -> None:
    Artifact.objects.create(
        job=job,
        name=name,
        file=ContentFile(content, "x"),
        size_bytes=len(content),
        digest="0",
    )


def download(reader: Client, group: AlertGroup) -> zipfile.ZipFile:
    answer = reader.get(f"/alerts/{group.pk}/evidence.zip")
    assert answer["Content-Type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(answer.getvalue()))


@pytest.mark.django_db
def test_archive_has_every_process_and_both_environments(
    confirmed: AlertGroup, reader: Client
) -> None:
    bundle = download(reader, confirmed)
    names = set(bundle.namelist())
    assert {"issue.md", "processes.csv", "base/environment.json", "new/result.json"} <= names
    rows = bundle.read("processes.csv").decode().splitlines()
    assert len(rows) == 1 + Job.objects.filter(run__purpose="confirmation").count()


@pytest.mark.django_db
def test_code_and_calls_of_both_builds_are_compared(confirmed: AlertGroup, reader: Client) -> None:
    jobs = Job.objects.filter(run__purpose="confirmation")
    for side, calls in (("base", 10), ("new", 12)):
        job = jobs.filter(run__request__side=side)[0]
        leave(job, ARCHIVE, packed({"wrapper/0.py": f"call({calls})\n"}))
        leave(job, CALLS, compilation(calls))
    bundle = download(reader, confirmed)
    assert "+call(12)" in bundle.read("generated-code.diff").decode()
    assert "torch/_inductor/passes.py:run,10,12" in bundle.read("compile-calls.csv").decode()
    assert {f"base/{ARCHIVE}", f"new/{CALLS}"} <= set(bundle.namelist())


@pytest.mark.django_db
def test_manifest_says_why_code_is_missing(confirmed: AlertGroup, reader: Client) -> None:
    absent = {
        each["what"]: each["why"] for each in manifest(download(reader, confirmed))["missing"]
    }
    assert "measure.keep_code" in absent["base: generated code"]
    assert "TORCH_TRACE" in absent["structured trace, FX graphs"]


@pytest.mark.django_db
def test_files_in_the_archive_name_their_job(confirmed: AlertGroup, reader: Client) -> None:
    entries = manifest(download(reader, confirmed))["files"]
    jobs = [UUID(entry["job"]) for entry in entries if entry["job"]]
    assert Job.objects.filter(pk__in=jobs).count() == 2
