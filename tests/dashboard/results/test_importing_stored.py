"""Effects of importing another tool's file on the database and on the pages."""

import gzip
import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from benchmarks_suite.commands import listing
from benchmarks_suite.field.names import FieldModel
from dashboard.catalog.services.suite_catalog import sync_catalog
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
    for name in ("home", "benchmarks", "compare", "runs", "fleet", "experiments"):
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


def test_vllms_startup_is_a_trend_of_its_own_track(reader: Client) -> None:
    options = (
        "--track=vllm",
        "--machine=h100",
        "--build=2.13.0",
        "--at=2026-11-20T22:00+00:00",
        "--config=inductor",
        "--metric=avg_cold_startup_time=startup_cold_s",
        "--metric=avg_warm_startup_time=startup_warm_s",
    )
    for kind in ("cold", "warm"):
        assert "1 added" in imported(f"vllm_startup.{kind}_startup.pytorch.json", *options)
    output = imported("vllm_startup.cold_compilation.pytorch.json", *options)
    assert "avg_cold_compilation_time" in output
    values = dict(Datum.objects.values_list("series__metric", "value"))
    assert values == {"startup_cold_s": 41.4, "startup_warm_s": 17.31, "passed": 1.0}
    page = reader.get(reverse("series", args=[Benchmark.objects.get().name]))
    assert page.status_code == 200


HUD_HEADER = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,"
    "dynamo_peak_mem,calls_captured,unique_graphs,graph_breaks,unique_graph_breaks,"
    "autograd_captures,autograd_compiles,cudagraph_skips"
)


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("timm_models", "convnextv2_nano.fcmae_ft_in22k_in1k"),
        ("huggingface", "meta-llama/Llama-3.2-1B"),
        ("huggingface", "BertForMaskedLM"),
        ("torchbench", "resnext50_32x4d"),
    ],
)
def test_csv_of_pytorchs_runners_joins_our_model_of_that_name(
    suite: str, name: str, tmp_path: Path
) -> None:
    sync_catalog(catalog=listing.catalog())
    row = f"cuda,{name},8,1.68,12.5,31.5,1.08,4.5,4.2,2282,1,0,0,0,0,0"
    file = tmp_path / f"inductor_{suite}_bfloat16_inference_cuda_performance.csv"
    file.write_text(f"{HUD_HEADER}\n{row}\n")
    imported(str(file), "--machine=h100", "--build=2.13.0", "--at=2026-11-20T22:00+00:00")
    rows = Benchmark.objects.filter(model=FieldModel(name, suite, 8).model)
    assert set(rows.values_list("size", flat=True)) == {"smoke", "standard", "imported"}


def test_name_that_an_earlier_import_gave_a_digest_keeps_it(tmp_path: Path) -> None:
    row = "cuda,google/gemma-2-2b,8,1.68,12.5,31.5,1.08,4.5,4.2,2282,1,0,0,0,0,0"
    file = tmp_path / "inductor_huggingface_bfloat16_inference_cuda_performance.csv"
    file.write_text(f"{HUD_HEADER}\n{row}\n")
    options = ("--machine=h100", "--build=2.13.0")
    imported(str(file), *options, "--at=2026-11-20T22:00+00:00")
    sync_catalog(catalog=listing.catalog())
    imported(str(file), *options, "--at=2026-11-21T22:00+00:00")
    assert Benchmark.objects.filter(size="imported").count() == 1


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
    assert "23 added" in output
    assert set(Machine.objects.values_list("key", flat=True)) == {"a100"}
    assert Job.objects.get(status="fail_accuracy").benchmark.original == "resnet50 (torchbench)"


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
