"""The management commands: set up a local machine, trigger, import, add a worker."""

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.models import (
    Benchmark,
    Datum,
    Job,
    Machine,
    Purpose,
    Run,
    Schedule,
    TorchBuild,
    Track,
    Worker,
)
from dashboard.runs.services import fleet
from tests.builders import site
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db
H100 = [Path(__file__).parents[2] / "data" / name for name in ("h100_first", "h100_second")]
H100_TWO_RELEASES, H100_DRILL = (
    H100[0].with_name(name) for name in ("h100_two_releases", "h100_drill")
)
GOLDEN = sorted((Path(__file__).parents[2] / "data" / "golden").glob("result.*.json"))


def call(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def setup(tmp_path: Path) -> Sequence[str]:
    """The command line of setup_local with the builder's catalog."""
    catalog, build = tmp_path / "catalog.json", tmp_path / "build.json"
    catalog.write_text(json.dumps(site.catalog()))
    build.write_text(json.dumps({"label": site.BUILD, "version": "2.13.0", "adopted": True}))
    return "setup_local", "--catalog", str(catalog), "--build", str(build), "--json"


def test_setup_local_creates_everything_that_a_machine_needs(setup: Sequence[str]) -> None:
    made = json.loads(call(*setup))
    assert User.objects.get(username="admin").check_password(made["admin_password"])
    assert fleet.worker_of_token(made["worker_token"]) == Worker.objects.get(
        name="local", machine__key=made["machine"]
    )
    assert Schedule.objects.get().enabled
    assert Run.objects.get().pk == made["first_run"]
    assert Job.objects.count() == 4


def test_setup_local_again_changes_nothing(
    setup: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_TOKEN", json.loads(call(*setup))["worker_token"])
    again = json.loads(call(*setup))
    assert again["admin_password"] is None
    assert again["worker_token"] is None
    assert again["first_run"] is None
    assert Run.objects.count() == 1
    assert Worker.objects.count() == 1
    assert Schedule.objects.count() == 1


def test_setup_local_without_runs_plans_nothing(setup: Sequence[str]) -> None:
    made = json.loads(call(*setup, "--without-runs"))
    assert made["first_run"] is None
    assert Run.objects.count() == 0
    assert Schedule.objects.count() == 0
    assert made["worker_token"]


def test_setup_local_follows_a_newly_installed_torch(setup: Sequence[str]) -> None:
    call(*setup)
    Path(setup[4]).write_text(json.dumps({"label": "2.14.0+cpu", "version": "2.14.0"}))
    call(*setup)
    assert str(Track.objects.get().build) == "2.14.0+cpu"


def test_setup_local_replaces_an_unknown_token(
    setup: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*setup)
    monkeypatch.setenv("WORKER_TOKEN", "of another database")
    assert json.loads(call(*setup))["worker_token"]


def test_setup_local_retires_what_the_suite_no_longer_has(setup: Sequence[str]) -> None:
    call(*setup)
    Path(setup[2]).write_text(
        json.dumps({**site.catalog(), "benchmarks": site.catalog()["benchmarks"][:1]})
    )
    call(*setup)
    assert list(Benchmark.objects.filter(retired=False).values_list("name", flat=True)) == [
        site.MLP
    ]


@pytest.mark.parametrize("content", ["{", "[]", '{"benchmarks": 1, "configs": []}'])
def test_setup_local_names_the_file_that_it_cannot_read(setup: Sequence[str], content: str) -> None:
    Path(setup[2]).write_text(content)
    with pytest.raises(CommandError, match=r"catalog"):
        call(*setup)


def test_trigger_run_prints_its_run() -> None:
    site.worker()
    site.track()
    output = call("trigger_run", "--build", site.BUILD, "--machine", "cpu-2c", "--family", "toy")
    assert output == f"run {Run.objects.get().pk}: 2 jobs\n"


def test_trigger_run_says_what_is_unknown() -> None:
    with pytest.raises(CommandError, match="Unknown torch build '9'"):
        call("trigger_run", "--build", "9", "--machine", "cpu-2c")


def test_dry_run_plans_nothing() -> None:
    site.worker()
    output = call(
        "trigger_run", "--build", site.BUILD, "--machine", "cpu-2c", "--dry-run"
    ).splitlines()
    assert output[0] == f"{site.MLP} eager"
    assert output[-1].startswith("4 jobs, about ")
    assert not Run.objects.exists()


def test_add_worker_prints_a_token_that_works() -> None:
    token = call("add_worker", "gpu7", "--machine", "h200", "--create", "cuda").strip()
    worker = fleet.worker_of_token(token)
    assert worker
    assert worker.name == "gpu7"
    assert worker.machine.default_size == "standard"


def test_add_worker_says_when_the_name_is_taken() -> None:
    site.worker("w1")
    with pytest.raises(CommandError, match="Worker w1 exists"):
        call("add_worker", "w1", "--machine", "cpu-2c")


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
    ("folder", "count", "gpu"),
    [
        ("h100_third", 22, "h100"),
        ("h100_fourth", 27, "h100"),
        ("h100_fifth", 46, "h100"),
        ("h100_sixth", 16, "h100"),
        ("h100_seventh", 16, "h100"),
        ("h200_two_gpus", 9, "h200"),
    ],
)
def test_recordings_of_later_sessions_are_imported_completely(
    folder: str, count: int, gpu: str
) -> None:
    assert (
        call("import_results", H100[0].with_name(folder)).strip()
        == f"{count} added, 0 here already, 0 refused"
    )
    assert all(gpu in machine.key for machine in Machine.objects.all())


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
    client.force_login(User.objects.create_user("reader"))
    matrix = page_text(client.get("/benchmarks/"))
    assert "vit_b16.standard.inference" in matrix.replace("<wbr>", "")
    assert "0.52×" in matrix
    assert "Every case passed" in page_text(client.get("/"))


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
    assert call("import_results", tmp_path).strip() == "0 added, 1 here already, 0 refused"


def test_import_without_anything_usable_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(CommandError, match="Nothing could be imported"):
        call("import_results", tmp_path)


def test_build_is_identified_by_the_torch_of_the_result() -> None:
    call("import_results", *GOLDEN)
    assert TorchBuild.objects.filter(version__startswith="2.").exists()


def test_run_is_cancelled_by_its_number() -> None:
    run = site.run()
    assert call("cancel_run", run.pk).strip() == "1 job cancelled"
    with pytest.raises(CommandError, match="There is no run 0"):
        call("cancel_run", 0)
