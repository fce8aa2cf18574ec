"""`manage.py import_results` and `setup_demo`: files of the suite and recordings become rows."""

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.models import (
    Artifact,
    Datum,
    Job,
    Machine,
    Purpose,
    Run,
    TorchBuild,
)
from tests.builders import site
from tests.builders.people import viewer
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
DATA = Path(__file__).parents[2] / "data"
H100 = [DATA / "configs_h100" / name for name in ("first.jsonl.gz", "second.jsonl.gz")]
H100_TWO_RELEASES = DATA / "releases_h100" / "two_releases.jsonl.gz"
H100_DRILL = DATA / "drill" / "h100"
GOLDEN = sorted((DATA / "golden").glob("result.*.json"))

PASSED = next(path for path in GOLDEN if "pass" in path.name)


def call(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


def test_result_files_of_the_suite_are_imported_once() -> None:
    assert (
        call("import_results", *GOLDEN).strip() == f"{len(GOLDEN)} added, 0 here already, 0 refused"
    )
    rows = Datum.objects.count()
    assert (
        call("import_results", *GOLDEN).strip() == f"0 added, {len(GOLDEN)} here already, 0 refused"
    )
    assert Datum.objects.count() == rows
    assert set(Run.objects.values_list("purpose", flat=True)) == {Purpose.IMPORT}


def test_folder_without_anything_to_import_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing")
    assert "No file here can be imported: .json, .jsonl" in call("import_results", tmp_path)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """Files that `benchmarks_suite batch` leaves of one job: result, job file and two artifacts."""
    folder = tmp_path / "out" / "001-mlp"
    (folder / "artifacts").mkdir(parents=True)
    (folder / "result.json").write_bytes(PASSED.read_bytes())
    (folder / "job.json").write_text(json.dumps(json.loads(PASSED.read_bytes())["job"]))
    (folder / "artifacts" / "generated-code.tar.xz").write_bytes(b"code")
    (folder / "artifacts" / "trace.json").write_bytes(b"{}")
    return folder


def test_what_a_job_left_beside_its_result_is_imported_with_it(measured: Path) -> None:
    assert call("import_results", measured.parent).splitlines() == [
        "1 added, 0 here already, 0 refused",
        "2 artifacts kept",
    ]
    kept = {artifact.name: artifact.file.read() for artifact in Job.objects.get().artifacts.all()}
    assert kept == {"generated-code.tar.xz": b"code", "trace.json": b"{}"}


def test_an_import_that_was_interrupted_before_the_artifacts_brings_them_the_next_time(
    measured: Path,
) -> None:
    call("import_results", measured.parent)
    Artifact.objects.filter(name="trace.json").delete()
    assert "1 here already" in call("import_results", measured.parent)
    assert Artifact.objects.count() == 2


def test_an_artifact_that_is_refused_is_named_and_the_result_stays(
    measured: Path, settings: Any
) -> None:
    settings.ARTIFACT_LIMIT_BYTES = 3
    printed = call("import_results", measured.parent)
    assert "generated-code.tar.xz: refused: generated-code.tar.xz is larger than" in printed
    assert "1 added, 0 here already, 1 refused" in printed
    assert [artifact.name for artifact in Artifact.objects.all()] == ["trace.json"]


def test_a_dry_run_keeps_no_artifacts(measured: Path) -> None:
    assert "1 would be added" in call("import_results", "--dry-run", measured.parent)
    assert not Artifact.objects.exists()


def test_results_recorded_on_a_gpu_become_series_of_its_machine() -> None:
    assert call("import_results", *H100).strip() == "13 added, 0 here already, 0 refused"
    speedups = Datum.objects.filter(
        series__metric="speedup", series__machine__device_kind="cuda"
    ).order_by("value")
    shown = [f"{value:.2f}" for value in speedups.values_list("value", flat=True)]
    assert shown == [
        "0.96",
        "0.99",
        "1.26",
        "1.30",
        "1.46",
        "1.51",
        "1.58",
        "1.88",
        "2.40",
        "2.55",
        "2.73",
        "11.65",
    ]
    assert TorchBuild.objects.get().label == "2.11.0+cu130"


def test_two_recorded_releases_meet_in_the_same_series() -> None:
    assert (
        call("import_results", H100_TWO_RELEASES).strip() == "39 added, 0 here already, 0 refused"
    )
    vit = Datum.objects.filter(
        series__metric="latency_ms",
        series__benchmark__name__startswith="vit_b16",
        series__config__name="inductor",
    )
    shown = [(str(datum.build), f"{datum.value:.2f}") for datum in vit.order_by("planned_at")]
    assert shown == [
        ("2.11.0+cu130", "24.39"),
        ("2.13.0+cu130", "24.33"),
        ("2.11.0+cu130", "24.47"),
        ("2.13.0+cu130", "24.62"),
    ]


@pytest.mark.parametrize(
    ("study", "count", "gpus"),
    [
        ("captioning_h200", 5, {"h200"}),
        ("compiling_h200", 315, {"h200"}),
        ("configs_h100", 151, {"h100-80gb-hbm3"}),
        ("configs_h200", 29, {"h200"}),
        ("drill", 79, {"h100-80gb-hbm3", "h200"}),
        ("field_h100", 254, {"h100-80gb-hbm3"}),
        ("releases_h100", 186, {"h100-80gb-hbm3"}),
        ("releases_h200", 388, {"h200"}),
    ],
)
def test_studies_are_imported_completely(study: str, count: int, gpus: set[str]) -> None:
    first_line, *_ = call("import_results", DATA / study).splitlines()
    assert first_line == f"{count} added, 0 here already, 0 refused"
    assert set(Machine.objects.values_list("key", flat=True)) == gpus


def test_recorded_variant_is_a_separate_build_with_separate_series() -> None:
    call("import_results", H100_TWO_RELEASES)
    variant = TorchBuild.objects.get(base__label="2.13.0+cu130")
    assert variant.label.startswith("2.13.0+cu130~no-epilogue_fusion.max_fusion_size-1-")
    assert variant.variant == {"inductor": {"max_fusion_size": 1, "epilogue_fusion": False}}
    assert set(Run.objects.filter(build=variant).values_list("track__key", flat=True)) == {
        "import-variants"
    }


def test_recorded_variant_matches_the_existing_one_with_the_same_settings() -> None:
    settings = {"inductor": {"max_fusion_size": 1, "epilogue_fusion": False}}
    base = TorchBuild.objects.create(label="2.13.0+cu130", version="2.13.0+cu130")
    existing = TorchBuild.objects.create(
        label="2.13.0+cu130~ours", version="2.13.0+cu130", base=base, variant=settings
    )
    call("import_results", H100_TWO_RELEASES)
    assert TorchBuild.objects.get(base=base) == existing
    assert existing.runs.exists()


def test_h100_drill_has_a_build_for_each_injection_and_its_control_in_the_plain_build() -> None:
    assert call("import_results", H100_DRILL).strip() == "44 added, 0 here already, 0 refused"
    drift = Datum.objects.filter(
        series__metric="drift", series__benchmark__name__startswith="swiglu"
    )
    shown = {
        (datum.build.base is None, f"{datum.value:.5f}") for datum in drift.select_related("build")
    }
    assert drift.count() == 12
    assert shown == {(True, "0.00166"), (False, "0.00242")}
    assert TorchBuild.objects.filter(base__label="2.11.0+cu130").count() == 4


def test_imported_benchmark_that_no_local_suite_has_is_shown(client: Client) -> None:
    call("import_results", H100_TWO_RELEASES)
    client.force_login(viewer("reader"))
    matrix = page_text(client.get("/benchmarks/"))
    assert "vit_b16.standard.inference" in matrix.replace("<wbr>", "")
    assert "0.53×" in matrix  # of 2.13.0, the newest: 0.528 and 0.524


def test_setup_demo_adds_recordings_and_an_account_once(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.json"
    catalog.write_text(json.dumps(site.catalog()))
    demo = "setup_demo", *H100, "--catalog", str(catalog), "--json"
    made, again = json.loads(call(*demo)), json.loads(call(*demo))
    assert User.objects.get(username="admin").check_password(made["admin_password"])
    assert made["added"] == 13
    assert again["added"] == 0
    assert again["admin_password"] is None


def test_dry_run_imports_nothing() -> None:
    assert call("import_results", "--dry-run", *GOLDEN).startswith(f"{len(GOLDEN)} would be added")
    assert not Job.objects.exists()


def documents(count: int) -> list[dict[str, Any]]:
    job = site.run().jobs.get()
    results = [site.result(job, {"latency_ms": 1.0 + number}) for number in range(count)]
    return [
        {**result, "job": {**result["job"], "job_id": f"by-hand-{number}"}}
        for number, result in enumerate(results)
    ]


def test_archives_and_lines_are_imported(tmp_path: Path) -> None:
    first, second = documents(2)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as lines:
        lines.write(json.dumps(first) + "\n\n")
    (tmp_path / "b.json").write_text(json.dumps(second))
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "b.json", "b.json")
    assert call("import_results", tmp_path).strip() == "2 added, 1 here already, 0 refused"


def test_bad_file_is_named_and_the_others_are_imported(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "huge.json").write_text(json.dumps({**documents(1)[0], "benchmark": {**vast()}}))
    (tmp_path / "good.json").write_text(json.dumps(documents(1)[0]))
    output = call("import_results", tmp_path)
    assert "bad.json: refused: it is none of what can be imported" in output
    assert "huge.json: refused: it cannot be stored" in output
    assert "1 added, 0 here already, 2 refused" in output


def vast() -> dict[str, Any]:
    """A benchmark with a version that no column holds."""
    described = {
        key: value
        for key, value in site.describe(site.MLP, "toy").items()
        if key != "default_configs"
    }
    return {**described, "version": 10**12}


def test_machine_is_named_after_its_gpu(tmp_path: Path) -> None:
    document = documents(1)[0]
    document["environment"]["machine"]["gpu"] = "NVIDIA H200"
    (tmp_path / "r.json").write_text(json.dumps(document))
    call("import_results", tmp_path)
    assert Machine.objects.get(key="h200").device_kind == "cuda"


def test_exported_result_of_an_existing_job_is_skipped(tmp_path: Path) -> None:
    from dashboard.results.services.ingest import ingest

    worker = site.worker()
    job = site.running_job(worker)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    (tmp_path / "r.json").write_text(json.dumps(site.result(job)))
    first, where = call("import_results", tmp_path).splitlines()
    assert first == "0 added, 1 here already, 0 refused"
    assert where.startswith("1 of them on track local, machine cpu-2c")


def test_import_without_anything_usable_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(CommandError, match="Nothing could be imported"):
        call("import_results", tmp_path)


def test_build_is_identified_by_the_torch_of_the_result() -> None:
    call("import_results", *GOLDEN)
    assert TorchBuild.objects.filter(version__startswith="2.").exists()
