"""Values of another tool's file that differ in anything but time stay apart, or are refused."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from dashboard.models import Benchmark, BuildLevel, Config, Datum, Environment, Job, Machine, Series
from dashboard.results.formats import Hints, parse_file
from tests.builders.foreign_files import documents, reasons
from tests.builders.importing import FOLDER, imported

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 11, 1, tzinfo=UTC)
HEADER = (
    "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,"
    "eager_peak_mem,dynamo_peak_mem"
)
CSV = "inductor_torchbench_bfloat16_inference_cpu_performance.csv"
AT = ("--at=2026-03-01T00:00+00:00", "--build=2.11.0", "--machine=xeon")


def data_js(*commits: Mapping[str, Sequence[tuple[str, float, str]]]) -> dict[str, Any]:
    """A history of github-action-benchmark: per commit, suite -> (name, value, unit)."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for number, suites in enumerate(commits):
        at = (DAY + timedelta(days=number)).timestamp() * 1000
        for suite, benches in suites.items():
            values = [{"name": name, "value": value, "unit": unit} for name, value, unit in benches]
            commit = {"id": f"{number:040x}"}
            entry = {"commit": commit, "date": at, "tool": "go", "benches": values}
            entries.setdefault(suite, []).append(entry)
    return {"lastUpdate": 0, "repoUrl": "", "entries": entries}


def asv(environment: str, seconds: float, day: int = 0) -> dict[str, Any]:
    return {
        "commit_hash": f"{day:040x}",
        "env_name": environment,
        "date": (DAY + timedelta(days=day)).timestamp() * 1000,
        "params": {"machine": "runner", "cpu": "CPU", "num_cpu": "4", "python": "3.9"},
        "result_columns": ["result", "params"],
        "results": {"suite.time_sum": [[seconds], []]},
        "version": 2,
    }


def write(folder: Path, name: str, content: Any) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def latencies() -> dict[tuple[str, str], list[float]]:
    """(benchmark, config) -> milliseconds, oldest first."""
    series: dict[tuple[str, str], list[float]] = {}
    data = Datum.objects.filter(series__metric="latency_ms").order_by("planned_at")
    fields = "series__benchmark__original", "series__config__label", "value"
    for benchmark, config, value in data.values_list(*fields):
        series.setdefault((benchmark, config), []).append(round(value, 6))
    return series


def test_environments_of_asv_are_configs(tmp_path: Path) -> None:
    for environment, seconds in (("py3.9-numpy1.21", 0.010), ("py3.12-numpy2.1", 0.005)):
        write(tmp_path, f"01ac5e34-{environment}.json", asv(environment, seconds))
    imported(str(tmp_path))
    assert latencies() == {
        ("suite.time_sum", "py3.9-numpy1.21"): [10.0],
        ("suite.time_sum", "py3.12-numpy2.1"): [5.0],
    }


def test_suites_that_differ_in_signs_are_two_configs(tmp_path: Path) -> None:
    suites = {"C++ Benchmark": [("fib", 100, "ns")], "C# Benchmark": [("fib", 900, "ns")]}
    imported(write(tmp_path, "data.json", data_js(suites)))
    assert latencies() == {("fib", "C++ Benchmark"): [0.0001], ("fib", "C# Benchmark"): [0.0009]}


def test_name_twice_in_a_commit_is_refused_with_both_places() -> None:
    file = data_js({"Go": [("Append", 5000, "ns/op"), ("Append", 120, "ns/op"), ("New", 1, "ns")]})
    why = reasons("data.json", json.dumps(file), Hints())
    assert why == (
        "data.json, entries.Go[0].benches[1]: Append would be a second latency_ms of Append (Go), "
        "next to Append (data.json, entries.Go[0].benches[0])"
    )
    assert len(parse_file("data.json", json.dumps(file).encode()).documents) == 1


def record(metric: str, value: float, **changed: Any) -> dict[str, Any]:
    return {
        "timestamp": DAY.timestamp(),
        "head_sha": "9d3a" * 10,
        "benchmark": {"name": "vLLM benchmark", "extra_info": {}},
        "model": {"name": "example/model-8b"},
        "metric": {"name": metric, "benchmark_values": [value]},
        "runners": [{"name": "h100", "type": "h100", "gpu_info": "NVIDIA H100"}],
    } | changed


def test_two_metrics_onto_one_are_both_refused() -> None:
    records = [record("mean_ttft_ms", 35.2), record("mean_tpot_ms", 7.9)]
    hints = Hints(metrics=dict.fromkeys(("mean_ttft_ms", "mean_tpot_ms"), ("latency_ms", 1.0)))
    why = reasons("serving.json", json.dumps(records), hints)
    assert why == (
        "serving.json, record 2: mean_tpot_ms would be a second latency_ms of example/model-8b "
        "(vLLM benchmark) (imported), next to mean_ttft_ms (serving.json, record 1)"
    )
    assert not parse_file("serving.json", json.dumps(records).encode(), hints).documents


@pytest.mark.parametrize(
    "changed",
    [
        {"benchmark": {"name": "another suite", "extra_info": {}}},
        {"benchmark": {"name": "vLLM benchmark", "extra_info": {"request_rate": 4}}},
        {"benchmark": {"name": "vLLM benchmark", "mode": "training"}},
        {"benchmark": {"name": "vLLM benchmark", "dtype": "float8 e4m3"}},
        {"benchmark": {"name": "vLLM benchmark", "extra_info": {"args": {"tp": 2}}}},
        {"model": {"name": "example/model-8b", "extra_info": {"quantization": "int8"}}},
        {"model": {"name": "example/model_8b"}},
        {"model": {"name": "example/model-8b", "backend": "eager+1"}},
    ],
)
def test_records_that_differ_in_a_field_are_two_cases(changed: dict[str, Any]) -> None:
    records = [record("latency_ms", 1.0), record("latency_ms", 2.0, **changed)]
    results = documents(parse_file("records.json", json.dumps(records).encode()))
    cases = {(each["benchmark"]["name"], each["job"]["config"]) for each in results}
    assert len(cases) == 2


def test_paths_and_times_of_a_record_do_not_tell_cases_apart() -> None:
    names = set()
    for night in range(2):
        extra = {"args": {"output_json": f"/tmp/{night}.json"}, "run_id": night}
        changed = record("latency_ms", 1.0, benchmark={"name": "suite", "extra_info": extra})
        [result] = documents(parse_file("record.json", json.dumps(changed).encode()))
        names.add(result["benchmark"]["name"])
    assert len(names) == 1


def test_build_of_a_serving_record_is_its_torch() -> None:
    torch = {"pytorch": {"repo": "pytorch/pytorch", "sha": "abc0" * 10}}
    body = json.dumps(record("latency_ms", 1.0, dependencies=torch)).encode()
    [result] = documents(parse_file("record.json", body))
    assert result["job"]["build"] == "git-abc0abc0abc0"


def test_machine_is_the_runners_name(tmp_path: Path) -> None:
    runners = [{"name": "gpu-box-1", "type": "h100"}]
    imported(write(tmp_path, "r.json", record("latency_ms", 1.0, runners=runners)))
    assert Machine.objects.get().key == "gpu-box-1"


def test_runner_goes_on_where_its_hardware_was_the_machine(tmp_path: Path) -> None:
    runners = [{"name": "gpu-box-1", "type": "h100"}]
    first, second, other = (
        record("latency_ms", 1.0 + night, runners=runners, timestamp=DAY.timestamp() + night)
        for night in range(3)
    )
    other["runners"] = [{"name": "gpu-box-2", "type": "h100"}]
    imported(write(tmp_path, "a.json", first), "--machine=cpu-1c")
    for environment in Environment.objects.all():
        del environment.document["machine"]["name"]
        environment.fingerprint = "0" * 16
        environment.save()
    for night in (second, other):
        imported(write(tmp_path, "b.json", night))
    machines = Series.objects.filter(metric="latency_ms").values_list("machine__key", "count")
    assert set(machines) == {("cpu-1c", 2), ("gpu-box-2", 1)}


def test_named_machine_is_not_that_of_its_hardware(tmp_path: Path) -> None:
    runners = [{"type": "", "cpu_info": "CPU", "cpu_count": 4}]
    imported(write(tmp_path, "a.json", record("latency_ms", 1.0, runners=runners)))
    imported(write(tmp_path, "a-b.json", asv("py", 0.01)))
    assert set(Machine.objects.values_list("key", flat=True)) == {"cpu-4c", "runner"}


def test_record_without_a_runner_asks_for_the_machine() -> None:
    assert "give its key with the import (--machine)" in reasons(
        "r.json", json.dumps(record("latency_ms", 1.0, runners=[])), Hints()
    )


@pytest.mark.parametrize("names", [("Box 1", "box-1"), ("runner.a", "runner_a"), ("盒", "箱")])
def test_machines_that_differ_in_signs_are_two(names: tuple[str, str], tmp_path: Path) -> None:
    for name in names:
        file = asv("py", 0.01)
        file["params"]["machine"] = name
        imported(write(tmp_path, "a-b.json", file))
    assert Machine.objects.count() == 2


def test_variant_in_a_csvs_name_tells_apart() -> None:
    names = set()
    for variant in ("", "_x86_zen", "_x86_spr"):
        body = f"{HEADER}\ncpu,T5,2,2.01,58.9,38.5,0.92,1,1\n".encode()
        name = CSV.replace("_performance", f"{variant}_performance")
        [result] = documents(parse_file(name, body, Hints("2.12.0", DAY, "xeon")))
        names.add(result["benchmark"]["name"])
    assert len(names) == 3


@pytest.mark.parametrize("option", ["--track=My track", "--machine=Büchse"])
def test_key_that_would_lose_letters_is_refused(option: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Use lower-case letters"):
        imported(write(tmp_path, "a-b.json", asv("py", 0.01)), option)


# --- Units, zeros, times
def test_memory_of_a_cpu_is_left_out() -> None:
    row = "cpu,BERT_pytorch,2,2.01,58.9,38.5,0.92,250.866893,271.536947"
    hints = Hints("2.11.0", DAY, "xeon")
    [result] = documents(parse_file(CSV, f"{HEADER}\n{row}\n".encode(), hints))
    assert set(result["metrics"]) == {"latency_ms", "speedup", "cold_start_s", "compression_ratio"}


def test_zeros_are_not_measured_and_cached_compiles_are_apart() -> None:
    rows = [
        "xpu,beit,2,1.57,3.161950,34.584147,0.000000,0,0",
        "xpu,beit,2,1.35,3.739150,2.122710,0.000000,0,0",
        "xpu,beit,2,1.34,3.657400,2.055741,0.000000,0,0",
        "xpu,beit,2,1.64,3.177650,33.898866,0.000000,0,0",
    ]
    body = "\n".join([HEADER, *rows, ""]).encode()
    results = documents(parse_file(CSV.replace("cpu", "xpu"), body, Hints("2.12.0", DAY, "b580")))
    assert [result["job"]["config"] for result in results] == [
        "inductor",
        "inductor_cached",
        "inductor_cached",
        "inductor",
    ]
    assert set(results[0]["metrics"]) == {"latency_ms", "speedup", "cold_start_s"}
    assert set(results[1]["metrics"]) == {"latency_ms", "speedup", "warm_start_s"}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("inductor-huggingface-amp_fp16-training-xpu-performance.csv", "amp_fp16"),
        ("inductor_huggingface_amp_bf16_training_xpu_performance.csv", "amp_bf16"),
        ("inductor_max_autotune_timm_models_float32_inference_cuda_performance.csv", "float32"),
    ],
)
def test_dtype_is_read_from_the_files_name(name: str, dtype: str) -> None:
    body = f"{HEADER}\nxpu,T5,2,2.01,58.9,38.5,0.92,1,1\n".encode()
    [result] = documents(parse_file(name, body, Hints("2.12.0", DAY, "pvc")))
    assert result["benchmark"]["dtype"] == dtype


@pytest.mark.parametrize(
    ("at", "started"), [(None, "2018-03-01T10:00:00"), (DAY, "2026-11-01T00:00:00")]
)
def test_time_without_a_zone_is_utc_and_at_is_taken(at: datetime | None, started: str) -> None:
    test = {"fullname": "t.py::a", "stats": {"median": 0.001}}
    file = {
        "machine_info": {"machine": "x86_64"},
        "commit_info": {"id": "ab" * 20},
        "datetime": "2018-03-01T10:00:00.000",
        "benchmarks": [test],
    }
    [result] = documents(parse_file("p.json", json.dumps(file).encode(), Hints(at=at)))
    assert result["started_at"].startswith(started)


def test_asv_of_version_1_and_of_2013_is_imported(tmp_path: Path, reader: Client) -> None:
    file = asv("", 0.01) | {"version": 1, "date": 1386688801000}
    del file["env_name"], file["result_columns"]
    file["results"] = {"time_a": 0.5, "time_b": {"result": [0.1, 0.2], "params": [["1", "2"]]}}
    imported(write(tmp_path, "0a1b2c3d-py2.7.json", file))
    assert latencies() == {
        ("time_a", "py2.7"): [500.0],
        ("time_b[1]", "py2.7"): [100.0],
        ("time_b[2]", "py2.7"): [200.0],
    }
    name = Benchmark.objects.get(original="time_a").name
    assert reader.get(reverse("series", args=[name])).status_code == 200


# --- Again
def test_again_to_another_track_says_where_it_is(tmp_path: Path) -> None:
    file = write(tmp_path, "data.json", data_js({"Go": [("Append", 5000, "ns/op")]}))
    imported(file, "--track=wrong", "--machine=a")
    assert "1 of them on track wrong, machine a" in imported(file, "--track=right", "--machine=b")


def test_deleted_import_leaves_nothing_and_can_go_elsewhere(tmp_path: Path) -> None:
    suites = {"Go": [("Append", 5000, "ns/op")]}
    file = write(tmp_path, "data.json", data_js(suites, suites))
    imported(file, "--track=wrong")
    call_command("delete_import", "--track=wrong")
    assert not Series.objects.exists()
    assert not Benchmark.objects.exists()
    assert "2 added" in imported(file, "--track=right")


def test_deleting_one_import_keeps_the_results_of_another(tmp_path: Path) -> None:
    suites = {"Go": [("Append", 5000, "ns/op")]}
    imported(write(tmp_path, "data.json", data_js(suites)), "--label=first")
    imported(write(tmp_path, "data.json", data_js(suites, suites)), "--label=second")
    call_command("delete_import", "--track=import", "--label=second")
    assert latencies() == {("Append", "Go"): [0.005]}
    assert Series.objects.get(metric="latency_ms").count == 1


def test_moved_import_is_in_the_series_of_its_new_place(tmp_path: Path) -> None:
    nights = [{"Go": [("Append", 5000 + night, "ns/op")]} for night in range(3)]
    imported(write(tmp_path, "data.json", data_js(*nights[:2])), "--track=wrong", "--machine=a")
    new_place = ("--track=right", "--machine=b")
    imported(write(tmp_path, "data.json", data_js({}, {}, nights[2])), *new_place)
    call_command("move_import", "--track=wrong", "--to-track=right", "--to-machine=b")
    [series] = Series.objects.filter(metric="latency_ms").select_related("track", "machine")
    assert (series.track.key, series.machine.key, series.count) == ("right", "b", 3)
    assert series.newest_value == pytest.approx(0.005001)
    assert set(BuildLevel.objects.values_list("track_id", "machine_id")) == {
        (series.track_id, series.machine_id)
    }
    again = imported(write(tmp_path, "data.json", data_js(*nights)), *new_place)
    assert "0 added, 3 here already" in again
    assert "move_import" not in again


def test_move_needs_a_place(tmp_path: Path) -> None:
    imported(write(tmp_path, "data.json", data_js({"Go": [("Append", 5000, "ns/op")]})))
    with pytest.raises(CommandError, match="Say where to"):
        call_command("move_import", "--track=import")
    with pytest.raises(CommandError, match="Use lower-case letters"):
        call_command("move_import", "--track=import", "--to-track=My track")


def test_moved_variant_stays_apart_from_plain_builds() -> None:
    call_command("import_results", FOLDER.parent / "releases_h100" / "two_releases.jsonl.gz")
    call_command("move_import", "--track=import-variants", "--to-track=right")
    assert Series.objects.filter(track__key="right-variants").exists()


def as_before_names_were_kept() -> None:
    """The rows as the upgrade makes them of what earlier versions left: keys alone."""
    Benchmark.objects.update(original="", imported_configs={})
    with connection.cursor() as cursor:
        cursor.execute(import_module("dashboard.migrations.0044_imported_names").CLAIMABLE)


def test_series_into_which_two_environments_went_does_not_go_on(tmp_path: Path) -> None:
    imported(write(tmp_path, "a-py.json", asv("imported", 0.010)))
    imported(write(tmp_path, "b-py.json", asv("py3.12", 0.005)))
    Job.objects.update(config=Config.objects.get(name="imported"))
    as_before_names_were_kept()
    assert Benchmark.objects.get().imported_configs == {}
    imported(write(tmp_path, "c-py.json", asv("py3.9", 0.011, day=1)))
    assert latencies()["suite.time_sum", "py3.9"] == [11.0]


def test_series_of_an_environment_goes_on_under_its_old_config(tmp_path: Path) -> None:
    imported(write(tmp_path, "a-py.json", asv("imported", 0.010)))
    as_before_names_were_kept()
    imported(write(tmp_path, "b-py.json", asv("py3.9", 0.011, day=1)))
    imported(write(tmp_path, "b-py.json", asv("py3.12", 0.005, day=1)))
    imported(write(tmp_path, "c-py.json", asv("py3.9", 0.012, day=2)))
    assert sorted(latencies().values()) == [[5.0], [10.0, 11.0, 12.0]]


def test_series_of_a_suite_goes_on_under_its_old_config(tmp_path: Path) -> None:
    nights = [{"C++ Benchmark": [("fib", 100 + night, "ns")]} for night in range(3)]
    imported(write(tmp_path, "data.json", data_js(*nights[:2])))
    plain = "c_benchmark"
    Config.objects.update(name=plain, label=plain)
    for job in Job.objects.select_related("result"):
        job.result.document["job"]["config"] = plain
        job.result.save()
    as_before_names_were_kept()
    assert "1 added, 2 here already" in imported(write(tmp_path, "data.json", data_js(*nights)))
    assert Series.objects.filter(metric="latency_ms").count() == 1


def test_original_names_are_shown_searched_and_exported(tmp_path: Path, reader: Client) -> None:
    imported(write(tmp_path, "data.json", data_js({"C++ Benchmark": [("t.py::pow[-3]", 1, "s")]})))
    benchmark = Benchmark.objects.get()
    job = benchmark.jobs.get().get_absolute_url()
    for address in (job, f"/search/?q={quote('pow[-3]')}", reverse("benchmarks")):
        assert "pow[-3]" in reader.get(address).text
    assert "C++ Benchmark" in reader.get("/search/?q=C%2B%2B").text
    page = reader.get(reverse("series", args=[benchmark.name])).text.replace("<wbr>", "")
    assert "pow[-3]" in page
    assert "C++ Benchmark" in page
    address = reverse("series_export", args=[benchmark.name, "json"])
    assert reader.get(address).json()["original"] == "t.py::pow[-3]"


def test_import_is_moved_and_deleted_in_the_admin(tmp_path: Path, admin_client: Client) -> None:
    imported(write(tmp_path, "data.json", data_js({"Go": [("Append", 5000, "ns/op")]})))
    address = reverse("import_results")
    assert "1 result, track import, machine github-actions" in admin_client.get(address).text
    import_run = {"what": Job.objects.get().run_id}
    assert "move to, or delete them" in admin_client.post(address, import_run).text
    admin_client.post(address, {**import_run, "to_track": "right"})
    assert Job.objects.get().run.track.key == "right"
    admin_client.post(address, {**import_run, "delete": "on"})
    assert not Job.objects.exists()


def test_import_in_the_admin_names_a_machine_that_is_new(admin_client: Client) -> None:
    file = SimpleUploadedFile("h.json", b'{"results": [{"command": "sleep 1", "median": 1.0}]}')
    form = {"file": file, "track": "t", "machine": "new-box", "build": "2.13.0"}
    admin_client.post(reverse("import_results"), form | {"at": "2026-11-20 10:00"})
    assert Job.objects.get().run.machine.key == "new-box"
