"""Exit code, signal and result file in, a named outcome out."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.outcome import (
    JobOutcome,
    ProcessContext,
    ResultFile,
    classify_outcome,
    read_result,
)
from runner.process import ProcessExit
from runner.resource_exhaustion import describe_full_disk, describe_increase, oom_kill_counts
from runner.suite_files import LIMIT_BYTES

NO_FILE = ResultFile(problem="it wrote no result file")


def outcome(
    *,
    exit_code: int | None = None,
    signal: int | None = None,
    stopped_for: str = "",
    result: ResultFile = NO_FILE,
    last_words: str = "",
    oom: str = "",
    disk: str = "",
) -> JobOutcome:
    end = ProcessExit(
        exit_code,
        signal,
        wall_s=3.0,
        peak_memory_gb=7.5,
        stopped_for=stopped_for,
    )
    context = ProcessContext(60, last_words, "compile", oom, disk)
    return classify_outcome(end, result, context, "the tail")


def test_kernel_kill_for_memory_is_oom_with_its_evidence() -> None:
    evidence = "oom_kill in /proc/vmstat rose by 1"
    killed = outcome(signal=9, oom=evidence)
    assert killed.status == "oom"
    assert f"{evidence}; its peak resident memory was 7.50 GiB" in killed.message
    assert "smaller batch" in killed.message


def test_kill_without_evidence_is_a_crash_and_no_more_is_said_of_it() -> None:
    killed = outcome(signal=9)
    assert killed.status == "crashed"
    assert "as far as the worker can read them, did not rise" in killed.message


def test_complete_result_counts_though_its_process_died_afterwards() -> None:
    died = outcome(signal=11, result=ResultFile({"schema": "result.v1"}))
    assert died.status == "pass"
    assert "SIGSEGV" in died.message


def test_cancelled_job_is_cancelled_even_with_a_result() -> None:
    cancelled = outcome(signal=15, stopped_for="cancelled", result=ResultFile({}))
    assert cancelled.status == "cancelled"
    assert cancelled.message == "Cancelled while it ran."  # by whom, the site knows


def test_exit_code_0_without_a_result_is_a_crash() -> None:
    ended = outcome(exit_code=0)
    assert ended.status == "crashed"
    assert "exit code 0 in the phase compile, and it wrote no result file" in ended.message


def test_full_disk_is_named_first() -> None:
    message = outcome(exit_code=1, disk="The disk is full. ").message
    assert message.startswith("The disk is full. It ended")


def test_signal_without_a_name_is_named_by_its_number() -> None:
    assert "signal 42" in outcome(signal=42).message


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "holds a JSON list, not an object"),
        ('{"value": 1e999}', "1e999 is not a finite number"),
        ("", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_problem_with_a_result_file_is_named(
    tmp_path: Path,
    content: str,
    problem: str,
) -> None:
    (tmp_path / "result.json").write_text(content)
    assert problem in read_result(tmp_path / "result.json").problem


def test_oversized_result_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "result.json").open("wb") as file:
        file.truncate(LIMIT_BYTES + 1)
    assert "32 are allowed" in read_result(tmp_path / "result.json").problem


def test_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "result.json")
    with ThreadPoolExecutor() as pool:
        reading = pool.submit(read_result, tmp_path / "result.json")
        try:
            assert "it is not a regular file" in reading.result(10).problem
        finally:  # a reader that waits gets its end of the file
            os.close(os.open(tmp_path / "result.json", os.O_RDWR))


def test_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "result.json").symlink_to("secret")
    assert "links are not followed" in read_result(tmp_path / "result.json").problem


def test_kernel_kills_are_counted_on_this_computer() -> None:
    assert oom_kill_counts()["/proc/vmstat"] >= 0


@pytest.mark.parametrize(
    ("cgroup", "file"),
    [
        ("0::/worker.slice", "sys/fs/cgroup/worker.slice/memory.events"),
        ("4:memory:/worker", "sys/fs/cgroup/memory/worker/memory.oom_control"),
        # a container sees its own at the root
        ("0::/seen/from/outside", "sys/fs/cgroup/memory.events"),
    ],
)
def test_kills_in_our_memory_cgroup_are_counted(
    tmp_path: Path,
    cgroup: str,
    file: str,
) -> None:
    write(tmp_path / "proc/self/cgroup", cgroup)
    write(tmp_path / file, "low 0\noom_kill 2\n")
    assert oom_kill_counts(tmp_path) == {f"/{file}": 2}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_only_a_count_that_rose_is_evidence() -> None:
    assert describe_increase({"/a": 1, "/b": 2}, {"/a": 1, "/b": 3}) == "oom_kill in /b rose by 1"
    assert describe_increase({"/a": 1}, {"/a": 1}) == ""


def test_disk_with_room_is_not_mentioned(tmp_path: Path) -> None:
    assert describe_full_disk(tmp_path, needed_mb=1000) == ""


@pytest.mark.parametrize(
    ("free_mb", "needed_mb", "says"),
    [
        (14, 4, ""),  # a small disk, with all that a job needs
        (14, 1000, "Only 14 MB are free under /worker: make room. "),
        (0, 4, "The disk under /worker is full (0 MB free): make room. "),
        (0, 0, "The disk under /worker is full (0 MB free): make room. "),
    ],
)
def test_disk_is_full_with_nothing_free_and_short_with_less_than_a_job_needs(
    monkeypatch: pytest.MonkeyPatch, free_mb: int, needed_mb: int, says: str
) -> None:
    usage = SimpleNamespace(free=free_mb * 1000**2)
    monkeypatch.setattr("runner.resource_exhaustion.shutil.disk_usage", lambda folder: usage)
    assert describe_full_disk(Path("/worker"), needed_mb=needed_mb) == says
