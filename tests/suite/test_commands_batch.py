"""The unattended queue: order, resuming, what a job that dies leaves, what the minutes mean."""

import io
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import batch
from benchmarks_suite.commands.job_processes import JobProcesses, NotForkable, WarmProcess
from benchmarks_suite.commands.precompile import can_precompile, precompile
from benchmarks_suite.harness import ahead, forks
from benchmarks_suite.harness.job import Job, JobError

EAGER: dict[str, Any] = {
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "eager",
    "measure": {"budget_s": 0.1},
}


def listed(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "list.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return path


def test_a_list_leaves_one_result_for_each_line_and_runs_none_twice(tmp_path: Path) -> None:
    path, out = listed(tmp_path, EAGER, "", EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    results = sorted(out.glob("*/result.json"))
    written = [result.stat().st_mtime_ns for result in results]
    assert [result.parent.name[:4] for result in results] == ["001-", "003-"]
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert [result.stat().st_mtime_ns for result in results] == written


def test_a_job_over_its_time_limit_leaves_a_timeout_and_the_queue_goes_on(tmp_path: Path) -> None:
    path = listed(tmp_path, {**EAGER, "timeout_s": 0.01}, EAGER)
    assert main(["batch", str(path), str(tmp_path / "out")]) == batch.OK
    statuses = [
        json.loads(f.read_text())["status"]
        for f in sorted((tmp_path / "out").glob("*/result.json"))
    ]
    assert statuses == ["timeout", "pass"]


def test_when_the_minutes_are_over_what_is_left_stays_to_be_done(tmp_path: Path) -> None:
    path, out = listed(tmp_path, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out), "--minutes", "0"]) == batch.SOMETHING_LEFT
    assert not list(out.glob("*/result.json"))


def test_a_wrong_line_is_named_before_anything_runs(tmp_path: Path) -> None:
    path = listed(tmp_path, EAGER, {**EAGER, "config": "inductr"})
    with pytest.raises(JobError, match=r"line 2: config: .*did you mean inductor"):
        batch.read(path, tmp_path)
    assert main(["batch", str(path), str(tmp_path / "out")]) == batch.WRONG_INPUT


def test_jobs_of_one_environment_are_forked_from_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = {**EAGER, "config": "dynamo_only"}
    path, out = listed(tmp_path, EAGER, compiled, compiled), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    results = [json.loads(result.read_text()) for result in sorted(out.glob("*/result.json"))]
    assert [result["status"] for result in results] == ["pass"] * 3
    assert [result.get("starts", {}).get("cold", {}).get("process") for result in results] == [
        None,
        "forked",
        "forked",
    ]
    assert "run in fresh processes" not in capsys.readouterr().err
    assert (out / "warm_processes.log").read_text() == ""


@pytest.mark.compiles
def test_what_was_compiled_ahead_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # precompile names its folder there; undone after the test
    monkeypatch.setenv(ahead.SWITCH, "")
    compiled = {**EAGER, "config": "inductor"}
    measured = {**EAGER["measure"], "starts": []}
    path = listed(
        tmp_path, {**compiled, "measure": measured}, compiled, {**EAGER, "measure": measured}
    )
    out = tmp_path / "out"
    jobs = [queued.job for queued in batch.read(path, out)]
    precompile(jobs, tmp_path / "ahead", 2, time.monotonic() + 300)
    (folder,) = (answer.parent for answer in (tmp_path / "ahead").glob("*/*/timed/answer.json"))
    graphs = set(folder.glob("inductor/fxgraph/*/*/*"))
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert set(folder.glob("inductor/fxgraph/*/*/*")) == graphs != set()
    found, by_itself, eager = (
        json.loads(result.read_text()) for result in sorted(out.glob("*/result.json"))
    )
    assert [set(result.get("starts", {})) for result in (found, by_itself, eager)] == [
        {"ahead"},
        {"cold"},
        set(),
    ]
    kept = ("graph_breaks", "unique_graphs", "recompiles")
    assert [found["metrics"][key] for key in kept] == [by_itself["metrics"][key] for key in kept]
    assert found["metrics"]["peak_memory_gb"]["value"] > 0
    assert found["compile"]["fingerprints"] == by_itself["compile"]["fingerprints"]
    assert not {"cold_start_s", "guard_overhead_us", "compile_dynamo_s"} & set(found["metrics"])
    assert "phases_s" not in found["compile"]


@pytest.mark.compiles
def test_caches_that_were_filled_ahead_go_when_every_line_has_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ahead.SWITCH, "")
    line = {**EAGER, "config": "inductor", "measure": {**EAGER["measure"], "starts": []}}
    path, out = listed(tmp_path, line), tmp_path / "out"
    assert main(["batch", str(path), str(out), "--ahead", "2"]) == batch.OK
    (result,) = out.glob("*/result.json")
    assert "ahead" in json.loads(result.read_text())["starts"]
    assert not (out / "ahead").exists()


@pytest.mark.compiles
def test_a_job_finds_both_arms_of_a_case_with_dropout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is timed drops, the one whose accuracy is checked does not."""
    monkeypatch.setenv(ahead.SWITCH, "")
    line = {**EAGER, "benchmark": "gpt2.smoke.training.float32.static.b2", "config": "inductor"}
    path, out = (
        listed(tmp_path, line | {"measure": {**EAGER["measure"], "starts": []}}),
        tmp_path / "out",
    )
    precompile(
        [queued.job for queued in batch.read(path, out)],
        tmp_path / "ahead",
        2,
        time.monotonic() + 600,
    )

    def compiled() -> set[Path]:
        return set((tmp_path / "ahead").rglob("fxgraph/*/*/*"))

    before = compiled()
    assert main(["batch", str(path), str(out)]) == batch.OK
    assert compiled() == before != set()
    (result,) = out.glob("*/result.json")
    assert json.loads(result.read_text())["status"] == "pass"


def test_caches_of_both_arms_become_one_and_forget_what_was_chosen_by_timing(
    tmp_path: Path,
) -> None:
    for arm, name in ((ahead.TIMED, "mine"), (ahead.CHECKED, "yours")):
        for file in (f"inductor/{name}.py", f"inductor/{name}.best_config", f"triton/{name}.cubin"):
            (tmp_path / arm / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / arm / file).touch()
    ahead.gather(tmp_path)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {f"timed/{file}" for file in ("inductor/mine.py", "inductor/yours.py")} | {
        f"timed/triton/{name}.cubin" for name in ("mine", "yours")
    }


@pytest.mark.parametrize(
    ("config", "variant", "can"),
    [
        ("inductor", {}, True),
        ("inductor_reduce_overhead", {}, True),
        ("inductor_max_autotune", {}, False),
        ("inductor", {"inductor": {"max_autotune_gemm": True}}, False),
        ("aot_inductor", {}, False),
        ("dynamo_only", {}, False),
    ],
)
def test_what_chooses_by_timing_is_not_compiled_ahead(
    tmp_path: Path, config: str, variant: dict[str, Any], can: bool
) -> None:
    line = {**EAGER, "config": config, "variant": variant, "measure": {"starts": []}}
    (queued,) = batch.read(listed(tmp_path, line), tmp_path)
    assert can_precompile(queued.job) is can


def test_a_case_that_could_not_be_compiled_ahead_is_left_to_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = {**EAGER, "config": "inductor", "measure": {**EAGER["measure"], "starts": []}}
    (queued,) = batch.read(listed(tmp_path, line), tmp_path / "out")
    monkeypatch.setenv(ahead.SWITCH, str(tmp_path))
    folder = ahead.place(queued.job, tmp_path) / ahead.TIMED
    assert ahead.found(queued.job) is None
    folder.mkdir(parents=True)
    (folder / "answer.json").write_text(
        json.dumps({"status": "oom", "message": "no room beside the others"})
    )
    assert ahead.found(queued.job) is None
    (folder / "answer.json").write_text(json.dumps({"status": "pass"}))
    assert ahead.found(queued.job) is not None


def test_what_found_no_room_beside_the_others_is_compiled_again_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here there is no GPU whose memory could run out: the process that compiles is played."""
    line = {**EAGER, "benchmark": "gpt2.smoke.training.float32.static.b2", "config": "inductor"}
    other = {**EAGER, "config": "inductor"}
    measured = {"measure": {**EAGER["measure"], "starts": []}}
    jobs = [
        queued.job
        for queued in batch.read(
            listed(tmp_path, line | measured, other | measured), tmp_path / "out"
        )
    ]
    tried: list[str] = []

    def compiled(command: tuple[str, ...], folder: Path, limit_s: float) -> int:
        room = "gpt2" not in folder.parent.name or folder.parent.name + command[-1] in tried
        (folder / "answer.json").write_text(json.dumps({"status": "pass" if room else "oom"}))
        tried.append(folder.parent.name + command[-1])
        return 0

    monkeypatch.setenv(ahead.SWITCH, "")
    monkeypatch.setattr("benchmarks_suite.commands.precompile.in_fresh_process", compiled)
    precompile(jobs, tmp_path / "ahead", 1, time.monotonic() + 300)
    assert [name.partition(".")[0] + "/" + name[-5:] for name in tried] == [
        *("gpt2/timed", "gpt2/ecked", "mlp/timed"),
        *("gpt2/timed", "gpt2/ecked"),
    ]
    assert all(ahead.found(job) for job in jobs)


def test_a_preloaded_process_that_died_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (queued,) = batch.read(listed(tmp_path, EAGER), tmp_path / "out")
    processes = JobProcesses(tmp_path / "warm_processes.log")
    queue = batch.Queue(processes, time.monotonic() + 300)
    others = set(forks.children(os.getpid()))
    processes.warm_process(queued.job)
    (preloaded,) = set(forks.children(os.getpid())) - others
    os.kill(preloaded, signal.SIGKILL)
    queue.run(queued)
    processes.close()
    assert queued.status == "pass"
    assert "run in fresh processes" in capsys.readouterr().err


def test_a_model_whose_libraries_must_not_be_forked_spoils_it_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its import does to a GPU is known where there is one; here the answer of its branch
    stands for that.
    """
    asked = []

    def answered(self: object, wanted: Job, folder: Path, limit_s: float) -> int:
        asked.append(wanted.benchmark.model)
        if wanted.benchmark.model == "mlp":
            raise NotForkable("its imports touched the GPU", of_model=True)
        return 0

    monkeypatch.setattr(WarmProcess, "run", answered)
    other = {**EAGER, "benchmark": "tiny_cnn.smoke.inference.float32.static.b32"}
    processes = JobProcesses(tmp_path / "warm_processes.log")
    for number, queued in enumerate(
        batch.read(listed(tmp_path, EAGER, EAGER, other), tmp_path / "out")
    ):
        queued.folder.mkdir(parents=True)
        (queued.folder / "job.json").write_text(json.dumps(queued.job.document))
        assert processes.run(queued.job, queued.folder, 300) is None
        assert (queued.folder / "result.json").exists() == (number < 2)  # by a fresh process
    processes.close()
    assert asked == ["mlp", "tiny_cnn"]


def test_a_driver_feeds_lines_and_is_answered_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps(EAGER), "", json.dumps({**EAGER, "config": "inductr"})]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["batch", "-", str(tmp_path)]) == batch.WRONG_INPUT
    done, wrong = map(json.loads, capsys.readouterr().out.splitlines())
    assert (done["line"], done["status"]) == (1, "pass")
    assert (tmp_path / done["folder"] / "result.json").exists()
    assert wrong["line"] == 3
    assert "did you mean inductor" in wrong["error"]
