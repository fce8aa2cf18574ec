"""The archive of an alert's evidence: what lies in it, what does not and why, and its limit."""

import io
import json
import lzma
import random
import zipfile
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.core.evidence_bundle import (
    BundleFile,
    BundleFolder,
    Missing,
    pack,
    public_environment,
)
from dashboard.alerts.services import collecting, confirmations
from dashboard.models import AlertGroup, Job, Result
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.compile_diff import CALLS
from dashboard.results.core.structured_trace import LOG, TRACE
from tests.builders.alerting import end_job
from tests.builders.archives import leave, packed
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
    large = file("large.bin", random.Random(0).randbytes(2**20))
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


def test_file_that_fits_once_it_is_packed_is_in_the_archive() -> None:
    packed_files, missing = archive(file("trace.log", b"x" * 2_000_000), limit=500_000)
    assert packed_files.namelist() == ["trace.log", "MANIFEST.json"]
    assert missing == []


def test_files_of_a_folder_are_listed_one_by_one() -> None:
    target = io.BytesIO()
    folder = BundleFolder("new/trace/", "the trace", "1", lambda: {"a.log": b"a", "b/c.log": b"bc"})
    pack(target, [folder], [], {}, 2**20)
    entries = manifest(zipfile.ZipFile(target))["files"]
    names = [(entry["name"], entry["bytes"]) for entry in entries]
    assert names == [("new/trace/a.log", 1), ("new/trace/b/c.log", 2)]


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
    why = absent["new: structured trace, FX graphs, compiler log"]
    assert why == "No diagnostic rerun has brought any. They are due."


def graph(operator: str) -> str:
    """A structured trace with one graph."""
    head = '{"aot_inference_graph": {}, "frame_id": 0, "has_payload": "0"}'
    return f"V1124 22:40:01.1 1 x.py:1] {head}\n\tx = torch.ops.aten.{operator}(x)\n"


@pytest.fixture
def diagnosed(confirmed: AlertGroup) -> list[Job]:
    """Base and new, whose diagnostic jobs left a trace and a log each."""
    collecting.start_due(now=timezone.now())
    jobs = list(Job.objects.filter(run__evidence_of__isnull=False).order_by("planned_at"))
    for job, operator in zip(jobs, ("relu", "gelu"), strict=True):
        end_job(job, {"latency_ms": 100.0})
        leave(job, TRACE, packed({"trace.log": graph(operator)}))
        leave(job, LOG, lzma.compress(f"log of {operator}".encode()))
    return jobs


@pytest.mark.django_db
def test_graphs_of_both_builds_are_files_and_compared(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client
) -> None:
    bundle = download(reader, confirmed)
    name = "new/fx-graphs/aot_inference_graph/0_0_0.txt"
    assert bundle.read(name).decode() == "x = torch.ops.aten.gelu(x)"
    diff = bundle.read("fx-graphs.diff").decode()
    assert diff.startswith("# 1 graphs of base and 1 of new are compared: 1 differ.")
    assert "+x = torch.ops.aten.gelu(x)" in diff


@pytest.mark.django_db
def test_trace_and_log_are_unpacked(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client
) -> None:
    bundle = download(reader, confirmed)
    assert bundle.read("base/trace/trace.log").decode() == graph("relu")
    assert bundle.read("base/compiler.log").decode() == "log of relu"
    assert not {f"base/{TRACE}", f"base/{LOG}"} & set(bundle.namelist())
    assert not [each for each in manifest(bundle)["missing"] if "trace" in each["what"]]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("files", "why"),
    [({}, "is empty"), ({"..": "x"}, "a file called '..'"), ({"a/b.log": "x"}, "called 'a/b.log'")],
)
def test_trace_that_no_torch_wrote_is_missing_with_the_reason(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client, files: dict[str, str], why: str
) -> None:
    diagnosed[1].artifacts.filter(name=TRACE).delete()
    leave(diagnosed[1], TRACE, packed(files))
    bundle = download(reader, confirmed)
    absent = {each["what"]: each["why"] for each in manifest(bundle)["missing"]}
    assert why in absent["new/trace/"]
    assert bundle.read("base/trace/trace.log").decode() == graph("relu")


@pytest.mark.django_db
def test_what_the_suite_cut_is_missing(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client
) -> None:
    files = {"trace.log": {"bytes": 40 * 2**20, "cut_bytes": 8 * 2**20}}
    say(diagnosed[1], {"status": "pass", "files": files})
    [cut] = [
        each for each in manifest(download(reader, confirmed))["missing"] if "rest" in each["what"]
    ]
    assert cut["what"] == "new: the rest of trace.log"
    assert cut["why"] == "8.0 of 40.0 MiB were too large to keep."


@pytest.mark.django_db
def test_reason_of_the_suite_for_no_trace_is_passed_on(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client
) -> None:
    diagnosed[1].artifacts.filter(name=TRACE).delete()
    say(diagnosed[1], {"status": "pass", "no_trace": "this torch writes none"})
    absent = {
        each["what"]: each["why"] for each in manifest(download(reader, confirmed))["missing"]
    }
    assert absent["new: structured trace, FX graphs"] == "This torch writes none."


def say(job: Job, start: dict[str, Any]) -> None:
    """Have the job's result say this of its diagnostic start."""
    result = Result.objects.get(pk=job.pk)
    result.document = {**result.document, "starts": {"diagnostic": start}}
    result.save()


@pytest.mark.django_db
def test_files_in_the_archive_name_their_job(confirmed: AlertGroup, reader: Client) -> None:
    entries = manifest(download(reader, confirmed))["files"]
    jobs = [UUID(entry["job"]) for entry in entries if entry["job"]]
    assert Job.objects.filter(pk__in=jobs).count() == 2
