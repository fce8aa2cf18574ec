"""What an import of another tool's file leaves in the database and on the pages."""

import gzip
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.models import Benchmark, Datum, Job, Machine
from tests.builders.importing import FOLDER, imported

pytestmark = pytest.mark.django_db


def test_imported_v3_file_looks_like_any_series(reader: Client) -> None:
    assert "3 results of PyTorch benchmark records" in imported("v3.json")
    benchmark = Benchmark.objects.get()
    page = reader.get(reverse("series", args=[benchmark.name])).text
    assert "git-c5f7e3d4a6b8" in page
    address = reverse("series_export", args=[benchmark.name, "json"])
    exported = reader.get(address).json()
    assert [datum["value"] for datum in exported["data"]] == [12.5, 12.7, 15.1]
    assert exported["machine"] == "h100"
    for name in ("overview", "benchmarks", "versions", "compare", "runs", "fleet", "comparisons"):
        assert reader.get(reverse(name)).status_code == 200, name
    job = Job.objects.all()[0]
    assert reader.get(job.get_absolute_url()).status_code == 200


def test_results_of_torchaos_own_benchmark_are_a_trend(reader: Client) -> None:
    """Its files name neither build nor machine, and its metrics in its own words."""
    options = (
        "--machine=office-pc",
        "--build=2.13.0",
        "--config=inductor",
        "--metric=Quantized Fwd Time (ms)=latency_ms",
    )
    assert "6 added" in imported("torchao_first.json", *options, "--at=2026-11-20T22:00+00:00")
    output = imported("torchao_second.json", *options, "--at=2026-11-21T22:00+00:00")
    assert "left out, because nobody said which of our metrics it is" in output
    name = Benchmark.objects.get(name__startswith="int8dq_256_1024_1024_").name
    exported = reader.get(reverse("series_export", args=[name, "json"])).json()
    assert {datum["config"] for datum in exported["data"]} == {"inductor"}
    assert [round(datum["value"], 1) for datum in exported["data"]] == [32.5, 22.2]


def test_lines_of_a_packed_v3_file_belong_together(tmp_path: Path) -> None:
    packed = tmp_path / "v3.jsonl.gz"
    packed.write_bytes(gzip.compress((FOLDER / "v3.json").read_bytes()))
    assert "3 added" in imported(str(packed))


def test_the_same_file_again_changes_nothing() -> None:
    imported("v3.json")
    assert "0 added, 3 here already" in imported("v3.json")
    assert Datum.objects.filter(series__metric="latency_ms").count() == 3


def test_command_imports_every_format() -> None:
    output = imported(
        "", "--build", "2.13.0", "--at", "2026-11-01T00:00+00:00", "--machine", "a100"
    )
    assert "19 added" in output
    assert set(Machine.objects.values_list("key", flat=True)) == {"a100"}
    assert Job.objects.get(status="fail_accuracy").benchmark.model == "resnet50"


def test_dry_run_changes_nothing() -> None:
    assert "3 would be added" in imported("v3.json", "--dry-run")
    assert not Job.objects.exists()


def test_asvs_machine_is_the_one_it_names() -> None:
    imported("asv.json")
    assert Machine.objects.get().key == "vm"


def test_file_that_is_imported_again_under_its_old_names_changes_nothing() -> None:
    imported("pytest_benchmark.json")
    for benchmark in Benchmark.objects.all():
        plain = re.sub(r"_[0-9a-f]{8}\.", ".", benchmark.name)
        Benchmark.objects.filter(pk=benchmark.pk).update(name=plain)
    before = Benchmark.objects.count()
    imported("pytest_benchmark.json")
    assert Benchmark.objects.count() == before
