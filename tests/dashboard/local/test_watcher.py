"""The watcher with real child processes: restarts, clean stops, and nothing left after kill -9."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.local import instance_lock, local_env, processes, project
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.programs import programs
from dashboard.local.supervised_program import Program, SupervisedProgram

STOP_STEPS = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def supervised(folder: Path, script: str) -> SupervisedProgram:
    program = Program("child", (sys.executable, "-u", "-c", script), {**os.environ}, STOP_STEPS)
    return SupervisedProgram(program, folder, folder / "log")


@pytest.fixture
def forever(tmp_path: Path) -> Iterator[SupervisedProgram]:
    child = supervised(tmp_path, "import time; print('here'); time.sleep(600)")
    child.start()
    yield child
    child.stop()


def watch_until(child: SupervisedProgram, condition: Callable[[], bool]) -> None:
    def poll() -> bool:
        child.restart_if_ended()
        return condition()

    assert processes.wait_until(poll, 20)


def pid_of(child: SupervisedProgram) -> int:
    assert child.process is not None
    return child.process.pid


def logged(child: SupervisedProgram) -> str:
    return child.log.read_text() if child.log.exists() else ""


def test_output_is_shown_with_the_programs_name_and_kept_in_its_log(
    forever: SupervisedProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    assert processes.wait_until(lambda: "here" in logged(forever), 10)
    assert "child        | here" in capsys.readouterr().out


def test_killed_program_is_restarted_and_that_is_printed(
    forever: SupervisedProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    first = pid_of(forever)
    os.kill(first, signal.SIGKILL)
    watch_until(forever, lambda: not forever.ended() and pid_of(forever) != first)
    assert "child was killed by SIGKILL; starting it again in 1 s" in capsys.readouterr().out


def test_program_that_keeps_failing_is_restarted_less_and_less_often(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = supervised(tmp_path, "raise SystemExit(3)")
    child.start()
    watch_until(child, lambda: "starting it again in 2 s" in capsys.readouterr().out)


def test_stopping_a_program_ends_what_it_started(tmp_path: Path) -> None:
    script = (
        "import subprocess; print(subprocess.Popen(['sleep', '600']).pid); import time; "
        "time.sleep(600)"
    )
    child = supervised(tmp_path, script)
    child.start()
    assert processes.wait_until(lambda: logged(child).strip().isdigit(), 10)
    child.stop()
    grandchild = int(logged(child))
    assert processes.wait_until(lambda: not processes.is_running(grandchild), 5)


def test_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    script = (
        "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print('deaf'); time.sleep(600)"
    )
    steps = ((signal.SIGTERM, 0.2), (signal.SIGKILL, 5.0))
    program = Program("stubborn", (sys.executable, "-u", "-c", script), {**os.environ}, steps)
    child = SupervisedProgram(program, tmp_path, tmp_path)
    child.start()
    assert processes.wait_until(lambda: "deaf" in logged(child), 10)
    child.stop()
    assert child.ended()


# --- a whole watcher, in a process of its own that can be signalled ---

WATCHER = """
import sys, signal
from pathlib import Path
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.supervised_program import SupervisedProgram, Program
from dashboard.local.watcher import Watcher
folder, command = Path(sys.argv[1]), ("sleep", "600")
watcher = Watcher()
watcher.start_server(EmbeddedBroker(folder / "broker"))
for name in ("first", "second"):
    program = Program(name, command, {}, ((signal.SIGTERM, 5.0),))
    child = SupervisedProgram(program, folder, folder)
    watcher.start(child)
    print(child.process.pid, flush=True)
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
    with subprocess.Popen(
        command,
        cwd=project.ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def children(watcher: subprocess.Popen[str]) -> list[int]:
    assert watcher.stdout is not None
    lines = iter(watcher.stdout.readline, "watching\n")
    return [int(line) for line in lines if line.strip().isdigit()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_stops_everything_within_seconds(
    watcher: subprocess.Popen[str], number: signal.Signals
) -> None:
    pids = children(watcher)
    began = time.monotonic()
    watcher.send_signal(number)
    output, _ = watcher.communicate(timeout=30)
    assert "stopped" in output
    assert time.monotonic() - began < 10
    assert [pid for pid in pids if processes.is_running(pid)] == []


def test_kill_9_of_the_watcher_leaves_no_process_behind(
    watcher: subprocess.Popen[str], tmp_path: Path
) -> None:
    pids = children(watcher)
    broker = EmbeddedBroker(tmp_path / "broker")
    assert broker.running()
    watcher.kill()
    assert processes.wait_until(lambda: not any(map(processes.is_running, pids)), 10)
    assert processes.wait_until(lambda: not broker.running(), 10)


def test_watcher_outlives_a_broker_that_cannot_start(
    watcher: subprocess.Popen[str], tmp_path: Path
) -> None:
    children(watcher)
    broker = EmbeddedBroker(tmp_path / "broker")
    [manifest] = broker.home.glob("*/*.manifest")
    intact = manifest.read_text()
    manifest.write_text("cut short, as on a full disk")
    os.kill(broker._listener(), signal.SIGKILL)
    assert watcher.stdout is not None
    lines = iter(watcher.stdout.readline, "")
    assert any("broker could not be started" in line for line in lines)
    assert any("starting it again in 4 s" in line for line in lines)
    manifest.write_text(intact)
    assert processes.wait_until(broker.running, 15)


DEAF = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print('deaf'); time.sleep(600)"
SUPERVISOR_OF_DEAF = """
import signal, sys, time
from pathlib import Path
from dashboard.local.supervised_program import SupervisedProgram, Program
command, folder = (sys.executable, "-u", "-c", sys.argv[1]), Path(sys.argv[2])
program = Program("deaf", command, {}, (), death_signal=signal.Signals(int(sys.argv[3])))
child = SupervisedProgram(program, folder, folder)
child.start()
while "deaf" not in (child.log.read_text() if child.log.exists() else ""):
    time.sleep(0.05)
print(child.process.pid, flush=True)
time.sleep(600)
"""


def test_kill_9_ends_a_scheduler_that_does_not_heed_sigterm(tmp_path: Path) -> None:
    signals = {program.name: program.death_signal for program in programs({}, 8000)}
    arguments = [DEAF, str(tmp_path), str(int(signals["scheduler"]))]
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR_OF_DEAF, *arguments],
        cwd=project.ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as supervisor:
        assert supervisor.stdout is not None
        pid = int(next(line for line in supervisor.stdout if line.strip().isdigit()))
        supervisor.kill()
        assert processes.wait_until(lambda: not processes.is_running(pid), 10)


def test_second_signal_while_the_first_is_reported_ends_everything_at_once(tmp_path: Path) -> None:
    slowly = "print('interrupted', flush=True); import time; time.sleep(2); watcher.stop()"
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER.replace("watcher.stop()", slowly), str(tmp_path)],
        cwd=project.ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        children(process)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
    assert "ending everything at once" in output
    assert "stopped" in output
    assert process.returncode == 0


def test_second_start_reports_where_the_first_runs(tmp_path: Path) -> None:
    lock = instance_lock.acquire(tmp_path, "http://127.0.0.1:8123")
    assert lock is not None
    with lock:
        assert instance_lock.acquire(tmp_path, "http://127.0.0.1:9999") is None
        assert "http://127.0.0.1:8123" in instance_lock.describe_holder(tmp_path)
    assert instance_lock.holder(tmp_path) is None


def test_settings_file_is_private_and_read_back_as_written(tmp_path: Path) -> None:
    values = {"DATABASE_URL": "postgresql://a:b'c d@host/x?y=1&z=$2", "SECRET_KEY": "k"}
    local_env.write(tmp_path, values)
    assert (tmp_path / "local.env").stat().st_mode & 0o077 == 0
    assert local_env.read(tmp_path) == values
