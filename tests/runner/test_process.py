"""Finding and ending what a killed worker left behind, without touching anything else."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runner.job_log import JobLog
from runner.process import (
    MARKER_VARIABLE,
    SuiteProcess,
    end_leftover_processes,
    living_processes,
    process_variables,
)
from tests.builders.waiting import wait_for

PARENT_THAT_IS_KILLED = """
import os
from pathlib import Path
from runner.job_log import JobLog
from runner.process import MARKER_VARIABLE, SuiteProcess

folder = Path({folder!r})
variables = {{MARKER_VARIABLE: f"of {{folder}}"}}
log = JobLog(folder / "log")
SuiteProcess(["/bin/sleep", "600"], folder=folder, log=log, variables=variables)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, without our marker."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True, env={})
    yield process
    process.kill()
    process.wait()


def record(folder: Path, process: subprocess.Popen[bytes], *, off_by_s: float = 0) -> None:
    started = psutil.Process(process.pid).create_time() + off_by_s
    (folder / "process.json").write_text(json.dumps({"group": process.pid, "started": started}))


def test_leftover_is_found_by_its_recorded_group(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    record(tmp_path, sleeper)
    assert end_leftover_processes(tmp_path)
    assert sleeper.wait(5) == -9


def test_later_process_with_the_recorded_number_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    record(tmp_path, sleeper, off_by_s=-100)
    assert end_leftover_processes(tmp_path)
    assert sleeper.poll() is None


def test_leftover_that_left_its_group_is_found_by_its_marker(tmp_path: Path) -> None:
    folder = tmp_path / "job.1"
    stray = subprocess.Popen(
        ["sleep", "600"], start_new_session=True, env={MARKER_VARIABLE: str(folder)}
    )
    other = subprocess.Popen(
        ["sleep", "600"], start_new_session=True, env={MARKER_VARIABLE: f"{folder}0"}
    )
    try:
        for process in (stray, other):  # while it is being started its environment is empty
            wait_for(psutil.Process(process.pid).environ)
        assert end_leftover_processes(folder)
        assert stray.wait(5) == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_suite_dies_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = PARENT_THAT_IS_KILLED.format(folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=False)
    wait_for(lambda: list(living_processes(f"of {tmp_path}", None)) == [], seconds=10)


def test_suite_is_the_first_to_be_killed_for_memory_and_dumps_no_core(
    tmp_path: Path,
) -> None:
    log = JobLog(tmp_path / "log")
    suite = SuiteProcess(
        ["/bin/sh", "-c", "cat /proc/self/oom_score_adj; ulimit -c"],
        folder=tmp_path,
        log=log,
        variables={MARKER_VARIABLE: f"of {tmp_path}"},
    )
    suite.watch(90, lambda: "")
    assert log.tail() == "1000\n0\n"


def test_end_of_a_suite_is_seen_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.process.WATCH_S", 60)
    suite = SuiteProcess(
        ["/bin/true"],
        folder=tmp_path,
        log=JobLog(tmp_path / "log"),
        variables={MARKER_VARIABLE: f"of {tmp_path}"},
    )
    started = time.monotonic()
    end = suite.watch(90, lambda: "")
    assert end.exit_code == 0
    assert end.signal is None
    assert end.stopped_for == ""
    assert time.monotonic() - started < 30


def test_only_allow_listed_variables_are_inherited() -> None:
    inherited = {"PATH": "/bin", "WORKER_TOKEN": "secret", "MY_PASSWORD": "x"}
    variables = process_variables(inherited, "job.1", {"A": "b"})
    assert variables.keys() >= {"PATH", MARKER_VARIABLE, "A"}
    assert variables.keys().isdisjoint({"WORKER_TOKEN", "MY_PASSWORD"})


def test_tail_of_a_log_is_at_most_16_kb_of_text(tmp_path: Path) -> None:
    log = JobLog(tmp_path / "log")
    log.path.write_bytes(b"\xff" * 20_000)
    assert len(log.tail().encode()) <= 16_000


def test_phase_is_remembered_when_later_lines_push_it_out_of_the_tail(tmp_path: Path) -> None:
    log = JobLog(tmp_path / "log")
    log.path.write_text("phase: compile\n")
    assert log.phase() == "compile"
    log.path.write_text("x\n" * 20_000)
    assert log.phase() == "compile"


def test_trimmed_log_keeps_its_end_while_its_process_writes(tmp_path: Path) -> None:
    log = JobLog(tmp_path / "log")
    descriptor = log.open()
    for _ in range(17):
        os.write(descriptor, b"x" * 1023 * 1024 + b"end\n")
    log.trim()
    os.write(descriptor, b"more\n")
    os.close(descriptor)
    content = log.path.read_bytes()
    assert len(content) < 1.1 * 1024**2
    assert content.startswith(b"[the beginning was cut")
    assert content.endswith(b"end\nmore\n")
