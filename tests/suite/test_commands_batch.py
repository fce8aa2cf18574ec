"""The unattended queue: order, resuming, jobs that die, the minutes, and compiling ahead."""

import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import batch, job_processes
from benchmarks_suite.commands.job_processes import JobProcesses, NotForkable, WarmProcess
from benchmarks_suite.commands.precompile import can_precompile, precompile
from benchmarks_suite.harness import forks, outcome
from benchmarks_suite.harness import precompile as arm_caches
from benchmarks_suite.harness.job import Job, JobError

EAGER: dict[str, Any] = {
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "eager",
    "measure": {"budget_s": 0.1},
}
GPT2_TRAINING = {"benchmark": "gpt2.smoke.training.float32.static.b2"}


WITHOUT_STARTS = {"measure": {**EAGER["measure"], "starts": []}}
COMPILED = {**EAGER, "config": "inductor"}


def a_list(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "list.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def jobs_of(path: Path) -> list[Job]:
    return [queued.job for queued in batch.read(path, path.parent / "out")]


def results_in(out: Path) -> list[dict[str, Any]]:
    """In the order of the list."""
    return [json.loads(file.read_text()) for file in sorted(out.glob("*/result.json"))]


def test_list_leaves_one_result_for_each_line_and_runs_none_twice(tmp_path: Path) -> None:
    path, out = tmp_path / "list.jsonl", tmp_path / "out"
    path.write_text(f"{json.dumps(EAGER)}\n\n{json.dumps(EAGER)}")
    assert main(["batch", str(path), str(out)]) == batch.OK
    files = sorted(out.glob("*/result.json"))
    assert [file.parent.name[:4] for file in files] == ["001-", "003-"]
    times = [file.stat().st_mtime_ns for file in files]
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert [file.stat().st_mtime_ns for file in files] == times


def test_job_over_its_time_limit_leaves_a_timeout_and_the_queue_continues(tmp_path: Path) -> None:
    path, out = a_list(tmp_path, {**EAGER, "timeout_s": 0.01}, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert [result["status"] for result in results_in(out)] == ["timeout", "pass"]


def test_timeout_names_the_stage_that_the_log_announced_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: JobProcesses, job: Job, folder: Path, limit_s: float) -> outcome.CaseOutcome:
        (folder / "log.txt").write_text("phase: job\nphase: compile\nphase 2 of 3: odd words\n")
        return outcome.CaseOutcome("timeout", "killed after 1 s")

    monkeypatch.setattr(JobProcesses, "run", killed)
    path, out = a_list(tmp_path, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    (result,) = results_in(out)
    assert (result["status"], result["stage"]) == ("timeout", "compile")
    assert "in stage compile" in result["absent"]["latency_ms"]


def test_killed_job_is_out_of_memory_most_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(forks.SWITCH, "fresh")
    monkeypatch.setattr(job_processes, "in_fresh_process", lambda *_: -signal.SIGKILL)
    path, out = a_list(tmp_path, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    (result,) = results_in(out)
    assert result["status"] == "oom"
    assert "most likely by the kernel" in result["message"]


def hanging(work: object, limit_s: float) -> int:
    raise TimeoutError


@pytest.mark.parametrize("failure", [None, outcome.CaseOutcome("crashed", "ended by SIGSEGV")])
def test_job_that_leaves_no_result_does_not_end_the_queue(
    failure: outcome.CaseOutcome | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobProcesses, "run", lambda *_: failure)
    monkeypatch.setattr(forks, "run", hanging)
    path, out = a_list(tmp_path, EAGER, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.SOMETHING_LEFT
    assert len(list(out.glob("*/job.json"))) == 2


def test_no_job_begins_after_the_minutes(tmp_path: Path) -> None:
    path, out = a_list(tmp_path, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out), "--minutes", "0"]) == batch.SOMETHING_LEFT
    assert not list(out.glob("*/result.json"))


def test_wrong_line_is_named_before_anything_runs(tmp_path: Path) -> None:
    path = a_list(tmp_path, EAGER, {**EAGER, "config": "inductr"})
    with pytest.raises(JobError, match=r"line 2: config: .*did you mean inductor"):
        batch.read(path, tmp_path)
    assert main(["batch", str(path), str(tmp_path / "out")]) == batch.WRONG_INPUT


def test_jobs_of_one_environment_are_forked_from_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = {**EAGER, "config": "dynamo_only"}
    path, out = a_list(tmp_path, EAGER, compiled, compiled), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    eager, first, second = results_in(out)
    assert {eager["status"], first["status"], second["status"]} == {"pass"}
    assert "cold" not in eager.get("starts", {})
    assert first["starts"]["cold"]["process"] == "forked"
    assert second["starts"]["cold"]["process"] == "forked"
    assert "run in fresh processes" not in capsys.readouterr().err
    assert (out / "warm_processes.log").read_text() == ""


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
    path, out = a_list(tmp_path, COMPILED | WITHOUT_STARTS | GPT2_TRAINING), tmp_path / "out"
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


def test_warm_process_that_died_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (queued,) = batch.read(a_list(tmp_path, EAGER), tmp_path / "out")
    processes = JobProcesses(tmp_path / "warm_processes.log")
    queue = batch.Queue(processes, time.monotonic() + 300)
    others = set(forks.children(os.getpid()))
    processes.warm_process(queued.job)
    (warm,) = set(forks.children(os.getpid())) - others
    os.kill(warm, signal.SIGKILL)
    queue.run(queued)
    processes.close()
    assert queued.status == "pass"
    assert "run in fresh processes" in capsys.readouterr().err


def test_other_models_are_forked_when_one_models_libraries_must_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a machine with a GPU knows what an import does to it; here its branch's answer is
    played.
    """
    forked = []

    def run_forked(self: object, job: Job, folder: Path, limit_s: float) -> int:
        forked.append(job.benchmark.model)
        if job.benchmark.model == "mlp":
            raise NotForkable("its imports touched the GPU", of_model=True)
        return 0

    monkeypatch.setattr(WarmProcess, "run", run_forked)
    other = {**EAGER, "benchmark": "tiny_cnn.smoke.inference.float32.static.b32"}
    processes = JobProcesses(tmp_path / "warm_processes.log")
    queue = batch.read(a_list(tmp_path, EAGER, EAGER, other), tmp_path / "out")
    for queued in queue:
        queued.folder.mkdir(parents=True)
        (queued.folder / "job.json").write_text(json.dumps(queued.job.document))
        assert processes.run(queued.job, queued.folder, 300) is None
    processes.close()
    assert forked == ["mlp", "tiny_cnn"]
    by_a_fresh_process = [queued.result_file.exists() for queued in queue]
    assert by_a_fresh_process == [True, True, False]


def test_driver_that_feeds_lines_is_answered_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps(EAGER), "", json.dumps({**EAGER, "config": "inductr"})]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["batch", "-", str(tmp_path)]) == batch.WRONG_INPUT
    done, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert done["line"] == 1
    assert done["status"] == "pass"
    assert (tmp_path / done["folder"] / "result.json").exists()
    assert wrong["line"] == 3
    assert "did you mean inductor" in wrong["error"]
