"""The supervisor's watch over real child processes: restarts, clean stops, and nothing left after
kill -9.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.local import local_env, processes, project, single
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.program import Kept, Program

GENTLY = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def kept(folder: Path, script: str) -> Kept:
    program = Program("child", (sys.executable, "-u", "-c", script), {**os.environ}, GENTLY)
    return Kept(program, folder, folder / "log")


@pytest.fixture
def forever(tmp_path: Path) -> Iterator[Kept]:
    child = kept(tmp_path, "import time; print('here'); time.sleep(600)")
    child.start()
    yield child
    child.stop()


def tend_until(child: Kept, condition: Callable[[], bool]) -> None:
    def tended() -> bool:
        child.tend()
        return condition()

    assert processes.wait_until(tended, 20)


def pid_of(child: Kept) -> int:
    assert child.process is not None
    return child.process.pid


def test_what_a_program_prints_is_shown_with_its_name_and_kept_in_its_log(
    forever: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    assert processes.wait_until(
        lambda: forever.log.exists() and "here" in forever.log.read_text(), 10
    )
    assert "child        | here" in capsys.readouterr().out


def test_a_program_that_is_killed_is_started_again_and_that_is_said(
    forever: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    first = pid_of(forever)
    os.kill(first, signal.SIGKILL)
    tend_until(forever, lambda: not forever.ended() and pid_of(forever) != first)
    assert "child was killed by SIGKILL; starting it again in 1 s" in capsys.readouterr().out


def test_a_program_that_keeps_failing_is_started_less_and_less_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = kept(tmp_path, "raise SystemExit(3)")
    child.start()
    tend_until(child, lambda: "starting it again in 2 s" in capsys.readouterr().out)


def test_stopping_a_program_ends_what_it_started(tmp_path: Path) -> None:
    started = (
        "import subprocess; print(subprocess.Popen(['sleep', '600']).pid); import time; "
        "time.sleep(600)"
    )
    child = kept(tmp_path, started)
    child.start()
    assert processes.wait_until(
        lambda: child.log.exists() and child.log.read_text().strip().isdigit(), 10
    )
    child.stop()
    assert processes.wait_until(lambda: not processes.runs(int(child.log.read_text())), 5)


def test_a_program_that_ignores_the_polite_signal_is_ended_by_force(tmp_path: Path) -> None:
    deaf = (
        "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print('deaf'); time.sleep(600)"
    )
    steps = ((signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0))
    program = Program("stubborn", (sys.executable, "-u", "-c", deaf), {**os.environ}, steps)
    child = Kept(program, tmp_path, tmp_path)
    child.start()
    assert processes.wait_until(lambda: child.log.exists() and "deaf" in child.log.read_text(), 10)
    child.stop()
    assert child.ended()


# --- a whole watcher, in a process of its own that can be signalled ---

WATCHER = """
import sys, signal
from pathlib import Path
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.program import Kept, Program
from dashboard.local.watcher import Watcher
folder, command = Path(sys.argv[1]), ("sleep", "600")
watcher = Watcher()
watcher.start_server(EmbeddedBroker(folder / "broker"))
for name in ("first", "second"):
    kept = Kept(Program(name, command, {}, ((signal.SIGTERM, 5.0),)), folder, folder)
    watcher.start(kept)
    print(kept.process.pid, flush=True)
try:
    print("watching", flush=True)
    watcher.watch()
except KeyboardInterrupt:
    watcher.stop()
    print("stopped", flush=True)
"""


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WATCHER, str(tmp_path)]
    with subprocess.Popen(command, cwd=project.ROOT, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def children(watcher: subprocess.Popen[str]) -> list[int]:
    assert watcher.stdout is not None
    lines = [line.strip() for line in iter(watcher.stdout.readline, "watching\n")]
    return [int(line) for line in lines if line.isdigit()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_within_seconds(
    watcher: subprocess.Popen[str], number: signal.Signals
) -> None:
    pids = children(watcher)
    began = time.monotonic()
    watcher.send_signal(number)
    said, _ = watcher.communicate(timeout=30)
    assert "stopped" in said
    assert time.monotonic() - began < 10
    assert [pid for pid in pids if processes.runs(pid)] == []


def test_kill_9_of_the_watcher_leaves_no_process_behind(
    watcher: subprocess.Popen[str], tmp_path: Path
) -> None:
    pids = children(watcher)
    broker = EmbeddedBroker(tmp_path / "broker")
    assert broker.running()
    watcher.kill()
    assert processes.wait_until(
        lambda: not any(map(processes.runs, pids)) and not broker.running(), 10
    )


def test_a_second_start_learns_where_the_first_one_is(tmp_path: Path) -> None:
    with single.hold(tmp_path, "http://127.0.0.1:8123") or pytest.fail("nobody held it"):
        assert single.hold(tmp_path, "http://127.0.0.1:9999") is None
        assert "http://127.0.0.1:8123" in single.describe(tmp_path)
    assert single.running_at(tmp_path) is None


def test_the_settings_file_is_closed_to_others_and_read_back_as_written(tmp_path: Path) -> None:
    values = {"DATABASE_URL": "postgresql://a:b'c d@host/x?y=1&z=$2", "SECRET_KEY": "k"}
    local_env.write(tmp_path, values)
    assert (tmp_path / "local.env").stat().st_mode & 0o077 == 0
    assert local_env.read(tmp_path) == values
