"""The suite's process: started apart from the worker, watched, and ended with all its children."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import structlog

from runner import launcher
from runner.job_log import JobLog
from runner.suite_account import SuiteAccount, open_to

# In the environment of every process of a job: finds those that left the process group
MARKER_VARIABLE = "COMPILEWATCH_JOB"
# In the job's folder: finds the process group when the worker that started it was killed
GROUP_FILE = "process.json"
GRACE_S = 5.0  # between SIGTERM and SIGKILL
DEATH_S = 30.0  # how long a process may take to die of SIGKILL (a GPU driver cleans up first)
WATCH_S = 0.5
INHERITED = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CUDA_PATH",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
    "XDG_CACHE_HOME",
    "COMPILEWATCH_CACHE",
    "SSL_CERT_FILE",
}

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ProcessExit:
    """End of a process.

    exit_code or signal: the one that it ended with. stopped_for: why the worker stopped it; empty
    when it ended by itself. wall_s: its life; peak_memory_gb: the largest resident set of it or a
    child it waited for, in GiB.
    """

    exit_code: int | None
    signal: int | None
    wall_s: float
    peak_memory_gb: float
    stopped_for: str = ""


def process_variables(
    inherited: Mapping[str, str], marker: str, extra: Mapping[str, str]
) -> dict[str, str]:
    """The environment of a job's process: the allow-listed variables, its marker, and `extra`.

    No token, no broker or database address: what a model's code could read it could also send away.
    """
    allowed = {name: value for name, value in inherited.items() if name in INHERITED}
    return {
        **allowed,
        MARKER_VARIABLE: marker,
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        **extra,
    }


def job_marker(folder: Path) -> str:
    """Return the mark of the processes of the job that has this folder.

    A job's name would not do: another worker on this machine may have a job of the same name.
    """
    return str(folder.resolve())


class SuiteProcess:
    """One run of a command of a job, in a session and process group of its own."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        log: JobLog,
        keep_open: Sequence[int] = (),
        account: SuiteAccount | None = None,
    ) -> None:
        """Start `command` in the empty folder `folder`/work.

        keep_open: descriptors that it inherits; account: whom it runs as; None: as the worker.
        """
        self._log = log
        self._marker = variables[MARKER_VARIABLE]
        self._started = time.monotonic()
        work = folder / "work"
        work.mkdir()
        open_to(account, work)
        identity = account.name if account else launcher.OURSELVES
        launch = [sys.executable, "-I", launcher.__file__, str(os.getpid()), identity]
        output = log.open()
        try:
            self._process = subprocess.Popen(
                [*launch, *command],
                cwd=work,
                env=dict(variables),
                start_new_session=True,
                pass_fds=keep_open,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        finally:
            os.close(output)
        self.pid = self._process.pid
        group = {"group": self.pid, "started": psutil.Process(self.pid).create_time()}
        with suppress(OSError):  # a full disk: the marker still finds the processes
            (folder / GROUP_FILE).write_text(json.dumps(group))

    def watch(self, limit_s: float, why_stop: Callable[[], str]) -> ProcessExit:
        """Wait for the end; bring it about after `limit_s`, or when `why_stop()` gives a reason.

        No process of the job is left when this returns.
        """
        stopped_for = ""
        exit_seen = os.pidfd_open(self.pid)
        try:
            while not stopped_for and not select.select([exit_seen], [], [], WATCH_S)[0]:
                if time.monotonic() - self._started > limit_s:
                    stopped_for = "timeout"
                else:
                    stopped_for = why_stop()
                self._log.trim()
        finally:
            os.close(exit_seen)
            grace_s = GRACE_S if stopped_for else 0
            if not end_processes(self._marker, self.pid, grace_s):
                logger.error(
                    "a process of the job does not die of SIGKILL; the device stays locked "
                    "until it does"
                )
        wall_s = time.monotonic() - self._started
        _, status, usage = os.wait4(self.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        return ProcessExit(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            wall_s=round(wall_s, 3),
            peak_memory_gb=usage.ru_maxrss / 1024**2,
            stopped_for=stopped_for,
        )


def end_processes(marker: str, group: int | None, grace_s: float) -> bool:
    """End every process of a job: SIGTERM, `grace_s` seconds, SIGKILL.

    False when one does not die.
    """
    if grace_s:
        _signal(living_processes(marker, group), signal.SIGTERM)
        _wait_for_none(marker, group, grace_s, send=0)
    return _wait_for_none(marker, group, DEATH_S, send=signal.SIGKILL)


def _wait_for_none(marker: str, group: int | None, seconds: float, *, send: int) -> bool:
    """Send the signal again and again until no process is left; whether none is.

    Again and again, because a process may have been forking. The signal 0 does nothing.
    """
    deadline = time.monotonic() + seconds
    while processes := list(living_processes(marker, group)):
        if time.monotonic() > deadline:
            return False
        _signal(processes, send)
        time.sleep(0.05)
    return True


def living_processes(marker: str, group: int | None) -> Iterator[psutil.Process]:
    """The processes of a job: its process group, and those that left it but carry its marker."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            in_group = os.getpgid(process.pid) == group
            if in_group or process.environ().get(MARKER_VARIABLE) == marker:
                yield process


def _signal(processes: Iterable[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def end_leftover_processes(folder: Path) -> bool:
    """End what is left of a job whose worker was killed. False when a process does not die."""
    group = None
    with suppress(OSError, ValueError, KeyError, TypeError, psutil.Error):
        record = json.loads((folder / GROUP_FILE).read_text())
        leader = psutil.Process(int(record["group"]))
        # The start time tells it from a later process that was given the same number
        if abs(leader.create_time() - float(record["started"])) < 1:
            group = leader.pid
    return end_processes(job_marker(folder), group, 0)
