"""The unattended queue: order, resuming, jobs that die, and the minutes."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import batch, job_process
from benchmarks_suite.harness import forks, outcome
from benchmarks_suite.harness.job import Job, JobError
from tests.builders.job_lists import EAGER, a_list, results_in
from tests.builders.waiting import wait_for


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
    def killed(job: Job, folder: Path, limit_s: float) -> outcome.CaseOutcome:
        (folder / "log.txt").write_text("phase: job\nphase: compile\nphase 2 of 3: odd words\n")
        return outcome.CaseOutcome("timeout", "killed after 1 s")

    monkeypatch.setattr(batch, "run_job", killed)
    path, out = a_list(tmp_path, EAGER), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    (result,) = results_in(out)
    assert (result["status"], result["stage"]) == ("timeout", "compile")
    assert "in stage compile" in result["absent"]["latency_ms"]


def test_killed_job_is_out_of_memory_most_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_process, "in_fresh_process", lambda *_: -signal.SIGKILL)
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
    monkeypatch.setattr(batch, "run_job", lambda *_: failure)
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


def test_job_is_a_process_of_its_own_whose_starts_are_forked_from_it(tmp_path: Path) -> None:
    path, out = a_list(tmp_path, {**EAGER, "config": "dynamo_only"}), tmp_path / "out"
    assert main(["batch", str(path), str(out)]) == batch.OK
    (result,) = results_in(out)
    assert result["starts"]["cold"]["process"] == "forked"


def test_job_ends_with_its_batch(tmp_path: Path) -> None:
    path, out = a_list(tmp_path, {**EAGER, "measure": {"budget_s": 300}}), tmp_path / "out"
    command = [sys.executable, "-m", "benchmarks_suite", "batch", str(path), str(out)]
    process = subprocess.Popen(command)
    wait_for(lambda: list(out.glob("*/log.txt")), 60)
    (job,) = forks.children(process.pid)
    process.kill()
    process.wait()
    wait_for(lambda: not Path(f"/proc/{job}").exists(), 10)


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
