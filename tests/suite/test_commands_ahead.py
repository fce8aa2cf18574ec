"""Cases that are compiled ahead of their jobs, several at once."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import batch
from benchmarks_suite.commands.precompile import can_precompile, precompile
from benchmarks_suite.harness import precompile as arm_caches
from tests.builders.job_lists import EAGER, a_list, jobs_of, results_in

GPT2_TRAINING = {"benchmark": "gpt2.smoke.training.float32.static.b2"}
DROPPING = """
import torch

def benchmark_dropping(mode="training", batch_size=16):
    module = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Dropout())
    return module, torch.randn(batch_size, 32), lambda output, x: output.square().mean()
"""
WITHOUT_STARTS = {"measure": {**EAGER["measure"], "starts": []}}
COMPILED = {**EAGER, "config": "inductor"}


@pytest.mark.compiles
def test_case_compiled_ahead_is_not_compiled_by_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # precompile names its folder there; undone after the test
    monkeypatch.setenv(arm_caches.SWITCH, "")
    path = a_list(tmp_path, COMPILED | WITHOUT_STARTS, COMPILED, EAGER | WITHOUT_STARTS)
    out = tmp_path / "out"
    precompile(jobs_of(path), tmp_path / "ahead", 2, time.monotonic() + 300)
    (answer,) = (tmp_path / "ahead").glob("*/*/timed/answer.json")
    graphs = set(answer.parent.glob("inductor/fxgraph/*/*/*"))
    assert graphs

    assert main(["batch", str(path), str(out)]) == batch.OK
    assert set(answer.parent.glob("inductor/fxgraph/*/*/*")) == graphs
    compiled_ahead, by_itself, eager = results_in(out)
    assert set(compiled_ahead["starts"]) == {"ahead"}
    assert set(by_itself["starts"]) == {"cold"}
    assert not eager.get("starts")

    metrics = compiled_ahead["metrics"]
    for key in ("graph_breaks", "unique_graphs", "recompiles"):
        assert metrics[key] == by_itself["metrics"][key]
    assert metrics["peak_memory_gb"]["value"] > 0
    assert not {"cold_start_s", "compile_dynamo_s"} & set(metrics)
    assert compiled_ahead["compile"]["fingerprints"] == by_itself["compile"]["fingerprints"]
    assert "phases_s" not in compiled_ahead["compile"]
    assert len(list(out.glob("*/artifacts/generated-code.tar.xz"))) == 2


@pytest.mark.compiles
def test_caches_filled_ahead_are_removed_when_every_line_has_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(arm_caches.SWITCH, "")
    path, out = a_list(tmp_path, COMPILED | WITHOUT_STARTS), tmp_path / "out"
    assert main(["batch", str(path), str(out), "--ahead", "2"]) == batch.OK
    (result,) = results_in(out)
    assert "ahead" in result["starts"]
    assert not (out / "ahead").exists()


@pytest.mark.compiles
def test_job_finds_both_arms_of_a_case_with_dropout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is timed drops, the one whose accuracy is checked does not."""
    monkeypatch.setenv(arm_caches.SWITCH, "")
    (tmp_path / "dropping.py").write_text(DROPPING)
    dropping = {
        "benchmark": "dropping.own.training.float32.static.b16",
        "sources": [str(tmp_path / "dropping.py")],
    }
    path, out = a_list(tmp_path, COMPILED | WITHOUT_STARTS | dropping), tmp_path / "out"
    precompile(jobs_of(path), tmp_path / "ahead", 2, time.monotonic() + 600)
    graphs = set((tmp_path / "ahead").rglob("fxgraph/*/*/*"))
    assert graphs
    # Nothing that an import could take for a package, such as Triton's caches
    left = {path.name for path in (tmp_path / "ahead").rglob("process/*")}
    assert left == {"job.json", "log.txt"}
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert set((tmp_path / "ahead").rglob("fxgraph/*/*/*")) == graphs
    (result,) = results_in(out)
    assert result["status"] == "pass"


def test_caches_of_both_arms_become_one(tmp_path: Path) -> None:
    for arm, name in ((arm_caches.TIMED, "mine"), (arm_caches.CHECKED, "yours")):
        for file in (f"inductor/{name}.py", f"triton/{name}.cubin"):
            (tmp_path / arm / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / arm / file).touch()
    arm_caches.gather(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(file.relative_to(tmp_path / "timed")) for file in files} == {
        "inductor/mine.py",
        "inductor/yours.py",
        "triton/mine.cubin",
        "triton/yours.cubin",
    }


def test_each_job_of_a_case_that_was_compiled_ahead_chooses_by_its_own_timing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs_of(a_list(tmp_path, COMPILED | WITHOUT_STARTS))
    monkeypatch.setenv(arm_caches.SWITCH, str(tmp_path))
    filled = arm_caches.place(job, tmp_path) / arm_caches.TIMED
    code, choice = filled / "inductor/ab/code.py", filled / "inductor/ab/code.best_config"
    code.parent.mkdir(parents=True)
    code.touch()
    (filled / "answer.json").write_text(json.dumps({"status": "pass"}))
    for _ in range(2):  # what was left beside others, and what the job before has chosen
        choice.touch()
        assert arm_caches.load(job) is not None
        assert code.exists()
        assert not choice.exists()


@pytest.mark.parametrize(
    ("config", "variant", "expected"),
    [
        ("inductor", {}, True),
        ("inductor_reduce_overhead", {}, True),
        ("inductor_max_autotune", {}, False),
        ("inductor", {"inductor": {"max_autotune_gemm": True}}, False),
        ("aot_inductor", {}, False),
        ("dynamo_only", {}, False),
    ],
)
def test_case_that_chooses_by_timing_is_not_compiled_ahead(
    tmp_path: Path, config: str, variant: dict[str, Any], expected: bool
) -> None:
    line = {
        **EAGER,
        "config": config,
        "variant": variant,
        "measure": {"starts": []},
    }
    (job,) = jobs_of(a_list(tmp_path, line))
    assert can_precompile(job) is expected


def test_case_that_could_not_be_compiled_ahead_is_left_to_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = jobs_of(a_list(tmp_path, COMPILED | WITHOUT_STARTS))
    monkeypatch.setenv(arm_caches.SWITCH, str(tmp_path))
    assert arm_caches.load(job) is None
    answer = arm_caches.place(job, tmp_path) / arm_caches.TIMED / "answer.json"
    answer.parent.mkdir(parents=True)
    answer.write_text(json.dumps({"status": "oom", "message": "no memory left by the others"}))
    assert arm_caches.load(job) is None
    answer.write_text(json.dumps({"status": "pass"}))
    assert arm_caches.load(job) is not None


def test_case_that_ran_out_of_memory_is_compiled_again_after_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here there is no GPU whose memory could run out: the process that compiles is played."""
    path = a_list(tmp_path, COMPILED | WITHOUT_STARTS | GPT2_TRAINING, COMPILED | WITHOUT_STARTS)
    jobs = jobs_of(path)
    attempts: list[tuple[str, str]] = []

    def compile_arm(command: tuple[str, ...], folder: Path, limit_s: float) -> int:
        caches_folder, arm = folder.parent, command[-1]
        model = caches_folder.parent.name.partition(".")[0]
        fits = model != "gpt2" or (model, arm) in attempts
        (caches_folder / "answer.json").write_text(
            json.dumps({"status": "pass" if fits else "oom"})
        )
        attempts.append((model, arm))
        return 0

    monkeypatch.setenv(arm_caches.SWITCH, "")
    monkeypatch.setattr("benchmarks_suite.commands.precompile.in_fresh_process", compile_arm)
    precompile(jobs, tmp_path / "ahead", 1, time.monotonic() + 300)
    gpt2 = [("gpt2", "timed"), ("gpt2", "checked")]
    assert attempts == [*gpt2, ("mlp", "timed"), *gpt2]
    assert all(arm_caches.load(job) for job in jobs)


def test_toolchain_that_fails_is_tried_once_before_anything_is_compiled_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts, failing = tmp_path / "attempts", tmp_path / "python"
    failing.write_text(f"#!/bin/sh\necho one >>{attempts}\necho Cannot find ptxas >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setenv("COMPILEWATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(arm_caches.SWITCH, "")
    monkeypatch.setattr("sys.executable", str(failing))
    path = a_list(tmp_path, COMPILED | WITHOUT_STARTS | GPT2_TRAINING, COMPILED | WITHOUT_STARTS)
    precompile(jobs_of(path), tmp_path / "ahead", 2, time.monotonic() + 300)
    assert attempts.read_text() == "one\n"
    assert not (tmp_path / "ahead").exists()
    assert "the toolchain fails: Cannot find ptxas" in capsys.readouterr().err
