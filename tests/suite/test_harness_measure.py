"""One job from file to file, as the worker runs it.

It has a process of its own, whatever the benchmark does wrong.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.builders.measured_jobs import MLP, run
from tests.builders.tiny_suite import name_of


def tiny(
    tmp_path: Path,
    model: str,
    mode: str = "inference",
    **fields: Any,
) -> dict[str, Any]:
    """The result of a model of tests/builders/tiny_suite.py."""
    return run(tmp_path, "tests.builders.tiny_suite", benchmark=name_of(model, mode), **fields)


def ending(result: dict[str, Any]) -> tuple[str, str]:
    return result["status"], result["stage"]


def test_a_case_that_works_has_a_speedup_and_both_drifts(tmp_path: Path) -> None:
    result = tiny(tmp_path, "fine", mode="training")
    assert ending(result) == ("pass", "profile")
    expected = {"speedup", "latency_ms", "drift", "eager_drift", "drift_gradients", "drift_loss"}
    assert expected <= result["metrics"].keys()
    assert set(result["samples"]) == {"eager", "compiled"}
    assert result["absent"]["cold_start_s"] == "no cold start was asked for (measure.starts)"
    assert result["metrics"].keys().isdisjoint(result["absent"])


def test_each_arm_has_a_profile_and_its_cpu_time(tmp_path: Path) -> None:
    result = tiny(tmp_path, "fine")
    for profile in result["profile"].values():
        assert profile["device"] == "cpu"
        assert profile["steps"] >= 1
        assert profile["kernels"][0]["ms"] > 0
        listed_ms = sum(row["ms"] for row in profile["kernels"]) + profile["rest"]["ms"]
        assert listed_ms == pytest.approx(profile["busy_ms"], rel=1e-3)
    assert set(result["profile"]) == {"eager", "compiled"}
    assert {"device_ms", "eager_device_ms", "device_speedup"} <= result["metrics"].keys()
    assert "nothing is launched" in result["absent"]["host_ms"]


def test_a_call_of_compiled_code_has_its_overhead_and_its_share_of_the_operators(
    tmp_path: Path,
) -> None:
    result = tiny(tmp_path, "fine")
    assert result["metrics"]["overhead_us"]["value"] > 0
    assert result["metrics"]["compiled_ops_percent"]["value"] == 100
    assert result["calls"]["graphs"] == 1
    assert result["calls"]["operators_outside"] == 0


def test_no_profile_is_made_where_none_is_asked_for(tmp_path: Path) -> None:
    result = tiny(tmp_path, "fine", measure={"profile_steps": 0, "starts": []})
    assert "profile" not in result
    assert "device_ms" in result["metrics"]  # of the samples
    assert "no profile" in result["absent"]["overhead_us"]


def test_accuracy_alone_has_drifts_and_no_latency(tmp_path: Path) -> None:
    only = {"accuracy_only": True, "starts": []}
    result = tiny(tmp_path, "fine", mode="training", measure=only)
    assert result["status"] == "pass"
    assert "drift_gradients" in result["metrics"]
    assert "accuracy alone was asked for" in result["absent"]["latency_ms"]


def test_eager_alone_has_no_speedup_and_says_why(tmp_path: Path) -> None:
    result = tiny(tmp_path, "fine", config="eager")
    assert result["status"] == "pass"
    assert "latency_ms" in result["metrics"]
    assert "eager itself" in result["absent"]["speedup"]
    assert result["absent"]["compiled_ops_percent"] == "nothing is compiled"


@pytest.mark.parametrize("model", ["heavy", "heavy_wrapped"])
def test_eagers_memory_leaves_out_the_copies_of_the_weights_that_the_suite_keeps(
    tmp_path: Path, model: str
) -> None:
    peak_gb = tiny(tmp_path, model, config="eager")["metrics"]["peak_memory_gb"]["value"]
    assert peak_gb == pytest.approx(0.04, abs=0.02)


def test_peak_memory_below_zero_is_absent_and_says_why(tmp_path: Path) -> None:
    result = tiny(tmp_path, "shrinks", config="eager")
    assert result["status"] == "pass"
    assert "came out as -0.0" in result["absent"]["peak_memory_gb"]


def test_a_model_that_raises_fails_to_run(tmp_path: Path) -> None:
    result = tiny(tmp_path, "raises")
    assert ending(result) == ("fail_to_run", "eager")
    assert "head count" in result["message"]
    assert result["error"]["type"] == "ValueError"
    assert result["metrics"]["passed"]["value"] == 0


def test_a_model_with_random_outputs_is_measured_but_not_judged(tmp_path: Path) -> None:
    result = tiny(tmp_path, "random")
    assert result["status"] == "eager_two_runs_differ"
    assert result["accuracy"]["status"] == "not_checked"
    assert "speedup" in result["metrics"]


def test_oom_in_eager_alone_is_a_status_of_that_arm(tmp_path: Path) -> None:
    result = tiny(tmp_path, "oom_in_eager")
    assert result["arms"]["eager"]["status"] == "oom"
    assert "no eager arm" in result["absent"]["speedup"]
    assert "latency_ms" in result["metrics"]
    assert result["status"] == "pass"


def test_drift_beyond_the_floor_is_not_judged_without_eager(tmp_path: Path) -> None:
    result = tiny(tmp_path, "coarse_without_eager")
    assert result["arms"]["eager"]["status"] == "oom"
    assert result["accuracy"]["status"] == "not_judged"
    assert {each.partition(":")[0] for each in result["accuracy"]["unjudged"]} >= {"outputs"}
    assert "not judged: outputs: 0.00" in result["message"]
    assert "passed" not in result["metrics"]
    assert 4e-6 < result["metrics"]["drift"]["value"] < 1


def test_training_is_not_judged_without_eager_either(tmp_path: Path) -> None:
    result = tiny(tmp_path, "coarse_without_eager", mode="training")
    assert result["accuracy"]["status"] == "not_judged"
    unjudged = {each.partition(":")[0] for each in result["accuracy"]["unjudged"]}
    assert {"outputs", "gradients"} <= unjudged


def test_oom_in_float64_alone_leaves_no_reference_and_no_pass(tmp_path: Path) -> None:
    result = tiny(tmp_path, "oom_in_float64")
    assert result["accuracy"]["status"] == "no_reference"
    assert "passed" not in result["metrics"]
    assert "speedup" in result["metrics"]
    assert "accuracy was not judged" in result["message"]


def test_oom_in_the_compiled_arm_ends_the_case(tmp_path: Path) -> None:
    result = tiny(tmp_path, "oom_when_compiled")
    assert ending(result) == ("oom", "compile")


def test_nan_in_eager_is_measured_but_not_judged(tmp_path: Path) -> None:
    result = tiny(tmp_path, "nan", mode="training")
    assert ending(result) == ("pass", "profile")
    assert "accuracy was not judged: outputs: none of it is finite" in result["message"]
    assert "finite" in result["absent"]["outputs_wrong"]


def test_wrong_second_output_is_counted(tmp_path: Path) -> None:
    result = tiny(tmp_path, "second_wrong_when_compiled")
    assert result["status"] == "fail_accuracy"
    assert result["metrics"]["outputs_wrong"]["value"] == 1
    assert result["accuracy"]["wrong_outputs"] == ["outputs[1]"]
    assert result["metrics"]["drift"]["value"] < 4e-6


@pytest.mark.parametrize("model", ["nan_when_compiled", "wrong_when_compiled"])
def test_a_compiled_arm_that_computes_something_else_fails_accuracy(
    tmp_path: Path, model: str
) -> None:
    result = tiny(tmp_path, model)
    assert result["status"] == "fail_accuracy"
    assert "outputs" in result["message"]
    assert "latency_ms" in result["metrics"]


def test_what_a_workload_lacks_is_unsupported(tmp_path: Path) -> None:
    result = tiny(tmp_path, "unsupported")
    assert ending(result) == ("unsupported", "import")
    assert "pip install torchquux" in result["message"]
    assert "passed" not in result["metrics"]


def test_a_start_that_does_not_end_is_a_timeout_with_a_result(tmp_path: Path) -> None:
    """15 s of the time limit are kept for the rest: the start has one, and GPT-2 takes several."""
    result = run(
        tmp_path,
        "benchmarks_suite",
        benchmark="gpt2.smoke.inference.float32.static.b2",
        config="inductor",
        timeout_s=16,
        measure={"starts": ["cold"]},
    )
    assert ending(result) == ("timeout", "compile")
    assert "raise timeout_s" in result["message"]


@pytest.mark.compiles
def test_a_distributed_case_is_measured_on_all_ranks(tmp_path: Path) -> None:
    """Two ranks; without agreement on when to stop they would wait for each other for ever."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    result = run(
        tmp_path,
        "benchmarks_suite",
        benchmark="ddp_mlp.smoke.training.float32.static.b64",
        measure={"starts": ["cold"], "single_steps": 20},
        environment={"TMPDIR": str(temporary)},
    )
    assert result["status"] == "pass"
    assert not list(temporary.glob("torchelastic_*"))  # torchrun would never remove them
    assert result["benchmark"]["items_per_step"] == 2 * 64
    assert {"speedup", "drift_gradients", "cold_start_s"} <= result["metrics"].keys()


@pytest.mark.compiles
def test_a_compiler_that_compiles_nothing_is_reported(tmp_path: Path) -> None:
    """torch's own nn.Sequential, with a graph break inside: dynamo skips it whole."""
    result = started_mlp(tmp_path, ["cold"], config="inductor_disabled_block")
    assert result["metrics"]["unique_graphs"]["value"] == 0
    assert result["message"].startswith("Nothing was compiled")


def test_a_warm_start_requested_alone_follows_a_cold_one(tmp_path: Path) -> None:
    """Otherwise its caches would be empty, and it would be cold by another name."""
    result = started_mlp(tmp_path, ["warm"], config="dynamo_only")
    assert list(result["starts"]) == ["cold", "warm"]


def started_mlp(
    folder: Path, starts: list[str], config: str = "inductor", **environment: str
) -> dict[str, Any]:
    """The result of a small model with these starts."""
    case = {"benchmark": MLP, "config": config, "measure": {"starts": starts}}
    return run(folder, "benchmarks_suite", **case, environment=environment)


@pytest.mark.compiles
def test_a_cold_start_measures_time_phases_memory_and_code(
    started_folder: Path, started: dict[str, Any]
) -> None:
    starts = started["starts"]
    metrics = {key: entry["value"] for key, entry in started["metrics"].items()}
    assert started["status"] == "pass"
    for kind in ("cold", "warm", "restored"):
        assert metrics[f"{kind}_start_s"] == starts[kind]["first_step_s"] > 0
    assert metrics["cache_hits"] >= 1
    assert metrics["artifact_size_mb"] > 0
    assert metrics["compile_peak_memory_gb"] >= metrics["peak_memory_gb"] > 0
    assert metrics["graph_breaks"] == 0
    assert metrics["recompiles"] == 0
    assert metrics["unique_graphs"] == 1
    assert started["compile"]["fingerprints"]["kernels"]
    # By the CPU's time: that of the wall depends on what else runs here
    for kind in ("cold", "cold_again"):
        assert starts[kind]["cpu_s"] > starts["warm"]["cpu_s"]
    assert metrics["cached_step_ratio"] > 0
    marks = {mark["kind"] for mark in started["marks"]}
    assert marks.isdisjoint({"fingerprint_unstable", "cache_missed", "recompile_limit"})
    assert (started_folder / "out" / "artifacts" / "generated-code.tar.xz").stat().st_size > 0


@pytest.mark.compiles
def test_startup_begins_with_the_process(tmp_path: Path) -> None:
    """Its parts come one after the other, imports first, whatever else the job measures."""
    kinds = ["cold", "startup_cold", "startup_warm"]
    result = started_mlp(tmp_path, kinds, config="aot_eager")
    metrics = {key: entry["value"] for key, entry in result["metrics"].items()}
    for kind in ("startup_cold", "startup_warm"):
        startup = result["starts"][kind]
        assert startup["process"] == "fresh"
        assert 0 < startup["imported_s"] < startup["built_s"] < startup["first_result_s"]
        assert metrics[f"{kind}_s"] == startup["first_result_s"] > metrics["cold_start_s"]


@pytest.mark.compiles
def test_forked_starts_do_what_fresh_ones_do(tmp_path: Path, started: dict[str, Any]) -> None:
    """The same graphs, cache misses and hits, code and memory: no knowledge from before is used."""
    forked = started
    thread = (
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    (tmp_path / "sitecustomize.py").write_text(thread)  # with it a process must not be forked
    fresh = started_mlp(tmp_path, ["cold", "warm", "restored"], PYTHONPATH=str(tmp_path))
    kinds = ("cold", "warm", "restored", "cold_again")
    assert {forked["starts"][kind]["process"] for kind in kinds} == {"forked"}
    assert {start["process"] for start in fresh["starts"].values()} == {"fresh"}
    assert forked["compile"]["counters"] == fresh["compile"]["counters"]
    assert forked["compile"]["fingerprints"] == fresh["compile"]["fingerprints"]
    assert forked["compile"]["counters"]["inductor.fxgraph_cache_miss"] == 1
    assert forked["metrics"]["cache_hits"] == fresh["metrics"]["cache_hits"]
    for kind, start in fresh["starts"].items():
        for peak in ("peak_gb", "compile_peak_gb"):
            assert forked["starts"][kind][peak] == pytest.approx(start[peak], abs=0.005)


@pytest.mark.compiles
def test_without_a_compiler_the_package_and_the_stage_are_named(tmp_path: Path) -> None:
    environment = {"CXX": "/nonexistent/g++", "COMPILEWATCH_CACHE": str(tmp_path / "cache")}
    result = started_mlp(tmp_path, ["cold"], **environment)
    assert result["status"] == "fail_to_compile"
    assert "apt-get install g++" in result["message"]
    assert result["ablation"]["stage"] == "Inductor"
    assert result["ablation"]["aot_eager"]["status"] == "pass"
