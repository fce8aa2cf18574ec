"""The unattended queue: order, resuming, what a job that dies leaves, what the minutes mean."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import batch
from benchmarks_suite.harness.job import JobError

EAGER = {"benchmark": "mlp.smoke.inference.float32.static.b64", "config": "eager", "measure": {"budget_s": 0.1}}


def listed(folder: Path, *lines: dict[str, Any] | str) -> Path:
    path = folder / "list.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
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
    path = listed(tmp_path, {**EAGER, "timeout_s": 0.2}, EAGER)
    assert main(["batch", str(path), str(tmp_path / "out")]) == batch.OK
    statuses = [json.loads(f.read_text())["status"] for f in sorted((tmp_path / "out").glob("*/result.json"))]
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
