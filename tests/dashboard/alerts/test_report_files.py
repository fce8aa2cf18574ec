"""The files of an alert's report: what is among them, what is left out and why, and the limit."""

import io
import json
import lzma
import random
import zipfile

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.core.report_files import LEFT_OUT, ReportPart, pack, public_environment
from dashboard.alerts.services import collecting
from dashboard.models import AlertGroup, Job
from dashboard.results.core.code_diff import ARCHIVE
from dashboard.results.core.compile_diff import CALLS
from dashboard.results.core.structured_trace import LOG, TRACE
from tests.builders.alerting import end_job
from tests.builders.archives import leave, packed
from tests.builders.call_tables import compilation
from tests.builders.confirmations import confirmed_regression


def file(name: str, body: bytes) -> ReportPart:
    return ReportPart(name, "a file", lambda: body)


def archive(*parts: ReportPart, limit: int = 2**20) -> zipfile.ZipFile:
    target = io.BytesIO()
    pack(target, parts, limit)
    return zipfile.ZipFile(target)


def left_out(of: zipfile.ZipFile) -> list[str]:
    return of.read(LEFT_OUT).decode().splitlines()


def test_file_that_does_not_fit_is_listed_as_left_out() -> None:
    large = file("large.bin", random.Random(0).randbytes(2**20))
    files = archive(large, file("small.txt", b"abc"), limit=500_000)
    assert files.namelist() == ["small.txt", LEFT_OUT]
    assert left_out(files) == ["large.bin: too large (1.0 MiB)"]


def test_file_that_is_gone_is_listed_as_left_out() -> None:
    def read() -> bytes:
        raise OSError("The code of job 1 is no longer kept.")

    files = archive(ReportPart("base/code", "code", read))
    assert left_out(files) == ["base/code: The code of job 1 is no longer kept."]


def test_file_that_fits_once_it_is_packed_is_there() -> None:
    assert archive(file("trace.log", b"x" * 2_000_000), limit=500_000).namelist() == ["trace.log"]


def test_folder_is_its_files() -> None:
    folder = ReportPart("new/trace/", "the trace", lambda: {"a.log": "a", "b/c.log": "bc"})
    assert archive(folder).namelist() == ["new/trace/a.log", "new/trace/b/c.log"]


def test_environment_loses_the_names_of_machine_and_device() -> None:
    environment = {"machine": {"host": "secret", "device_id": "GPU-1", "gpu": "H100"}}
    assert public_environment(environment) == {"machine": {"gpu": "H100"}}


# --- Of a measured alert


@pytest.fixture
def confirmed() -> AlertGroup:
    return confirmed_regression()


def download(reader: Client, group: AlertGroup) -> zipfile.ZipFile:
    answer = reader.get(f"/alerts/{group.pk}/report.zip")
    assert answer["Content-Type"] == "application/zip"
    return zipfile.ZipFile(io.BytesIO(answer.getvalue()))


@pytest.mark.django_db
def test_report_has_the_issue_and_a_result_of_either_build(
    confirmed: AlertGroup, reader: Client
) -> None:
    files = download(reader, confirmed)
    assert files.namelist()[:3] == ["issue.md", "base/result.json", "new/result.json"]
    environment = json.loads(files.read("base/result.json"))["environment"]
    assert "torch" in environment
    assert "host" not in environment["machine"]


@pytest.mark.django_db
def test_page_lists_what_the_zip_has(confirmed: AlertGroup, reader: Client) -> None:
    answer = reader.get(f"/alerts/{confirmed.pk}/report/")
    listed = [part.name for part in answer.context["report"].files]
    assert listed == download(reader, confirmed).namelist()
    assert f"/alerts/{confirmed.pk}/report.zip" in answer.text


@pytest.mark.django_db
def test_code_and_calls_of_both_builds_are_compared(confirmed: AlertGroup, reader: Client) -> None:
    jobs = Job.objects.filter(run__purpose="confirmation")
    for side, calls in (("base", 10), ("new", 12)):
        job = jobs.filter(run__request__side=side)[0]
        leave(job, ARCHIVE, packed({"wrapper/0.py": f"call({calls})\n"}))
        leave(job, CALLS, compilation(calls))
    files = download(reader, confirmed)
    assert "+call(12)" in files.read("generated-code.diff").decode()
    assert "torch/_inductor/passes.py:run,10,12" in files.read("compile-calls.csv").decode()
    assert {f"base/{ARCHIVE}", f"new/{CALLS}"} <= set(files.namelist())


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
    files = download(reader, confirmed)
    name = "new/fx-graphs/aot_inference_graph/0_0_0.txt"
    assert files.read(name).decode() == "x = torch.ops.aten.gelu(x)"
    diff = files.read("fx-graphs.diff").decode()
    assert diff.startswith("# 1 graphs of base and 1 of new are compared: 1 differ.")
    assert "+x = torch.ops.aten.gelu(x)" in diff


@pytest.mark.django_db
def test_trace_and_log_are_unpacked(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client
) -> None:
    files = download(reader, confirmed)
    assert files.read("base/trace/trace.log").decode() == graph("relu")
    assert files.read("base/compiler.log").decode() == "log of relu"
    assert not {f"base/{TRACE}", f"base/{LOG}", LEFT_OUT} & set(files.namelist())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("files", "why"),
    [({}, "is empty"), ({"..": "x"}, "a file called '..'"), ({"a/b.log": "x"}, "called 'a/b.log'")],
)
def test_trace_that_no_torch_wrote_is_left_out_with_the_reason(
    confirmed: AlertGroup, diagnosed: list[Job], reader: Client, files: dict[str, str], why: str
) -> None:
    diagnosed[1].artifacts.filter(name=TRACE).delete()
    leave(diagnosed[1], TRACE, packed(files))
    report = download(reader, confirmed)
    [line] = [line for line in left_out(report) if line.startswith("new/trace/")]
    assert why in line
    assert report.read("base/trace/trace.log").decode() == graph("relu")
