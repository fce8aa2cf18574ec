"""The suite's process: started apart from the worker, watched, and ended together with everything
it started.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import structlog

from runner import launch
from runner.account import Account, open_to
from runner.joblog import JobLog

# In the environment of every process of a job: finds those that left the process group
MARK = "COMPILEWATCH_JOB"
# In the job's folder: finds the group when the worker that started it was killed
RECORD = "process.json"
GRACE_S = 5.0  # between SIGTERM and SIGKILL
DEATH_S = 30.0  # how long a process may take to die of SIGKILL (a GPU driver tidies up first)
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
class Ended:
    """How the process ended.

    exit_code or signal: the one that it ended with. stopped_for: why the worker stopped it; empty
    when it ended by itself. wall_s: its life; peak_memory_gb: the largest resident set of it or a
    child it waited for, in GiB.
    """

    exit_code: int | None
    signal: int | None
    wall_s: float
    peak_memory_gb: float
    stopped_for: str = ""


def environment(
    inherited: Mapping[str, str], marker: str, extra: Mapping[str, str]
) -> dict[str, str]:
    """What the suite's process may know: the allow-listed variables, its job's mark, and `extra`.

    No token, no broker or database address: what a model's code could read it could also send away.
    """
    allowed = {name: value for name, value in inherited.items() if name in INHERITED}
    return {**allowed, MARK: marker, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1", **extra}


def mark_of(folder: Path) -> str:
    """The mark of the job that has this folder: another worker on this machine may have a job of
    the same name.
    """
    return str(folder.resolve())


class Suite:
    """One run of the suite's command, in a session and process group of its own."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        variables: Mapping[str, str],
        log: JobLog,
        keep_open: Sequence[int] = (),
        account: Account | None = None,
    ) -> None:
        """Start `command` in the empty folder `folder`/work. keep_open: descriptors that it
        inherits.

        account: whose process it becomes; None: ours.
        """
        self._log = log
        self._marker = variables[MARK]
        self._started = time.monotonic()
        (folder / "work").mkdir()
        open_to(account, folder / "work")
        whom = account.name if account else launch.OURSELVES
        output = log.open()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", launch.__file__, str(os.getpid()), whom, *command],
                cwd=folder / "work",
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
        record = {"group": self.pid, "started": psutil.Process(self.pid).create_time()}
        with suppress(OSError):  # a full disk: the mark still finds the processes
            (folder / RECORD).write_text(json.dumps(record))

    def watch(self, limit_s: float, why_stop: Callable[[], str]) -> Ended:
        """Wait for the end, or bring it about: after `limit_s` seconds, or when `why_stop()` gives
        a reason.

        No process of the job is left when this returns.
        """
        stopped_for = ""
        exit_seen = os.pidfd_open(self.pid)
        try:
            while not stopped_for and not select.select([exit_seen], [], [], WATCH_S)[0]:
                stopped_for = (
                    "timeout" if time.monotonic() - self._started > limit_s else why_stop()
                )
                self._log.trim()
        finally:
            os.close(exit_seen)
            if not end(self._marker, self.pid, GRACE_S if stopped_for else 0):
                logger.error(
                    "a process of the job does not die of SIGKILL; the device stays locked "
                    "until it does"
                )
        return self._reap(stopped_for)

    def _reap(self, stopped_for: str) -> Ended:
        wall_s = time.monotonic() - self._started
        _, status, usage = os.wait4(self.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            wall_s=round(wall_s, 3),
            peak_memory_gb=usage.ru_maxrss / 1024**2,
            stopped_for=stopped_for,
        )


def end(marker: str, group: int | None, grace_s: float) -> bool:
    """End every process of a job: SIGTERM, `grace_s` seconds, SIGKILL. False when one will not
    die.
    """
    if grace_s:
        _signal(living(marker, group), signal.SIGTERM)
        _wait_for_none(marker, group, grace_s, send=0)
    return _wait_for_none(marker, group, DEATH_S, send=signal.SIGKILL)


def _wait_for_none(marker: str, group: int | None, seconds: float, *, send: int) -> bool:
    """Send the signal to each again and again (0 does nothing), for it may have been forking;
    whether all are gone.
    """
    deadline = time.monotonic() + seconds
    while processes := list(living(marker, group)):
        if time.monotonic() > deadline:
            return False
        _signal(processes, send)
        time.sleep(0.05)
    return True


def living(marker: str, group: int | None) -> Iterator[psutil.Process]:
    """The processes of a job: those of its process group, and those that left it but carry its
    mark.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if os.getpgid(process.pid) == group or process.environ().get(MARK) == marker:
                yield process


def _signal(processes: Iterator[psutil.Process] | list[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def end_leftover(folder: Path) -> bool:
    """End what is left of a job whose worker was killed: see mark_of. False when one will not
    die.
    """
    return end(mark_of(folder), _recorded_group(folder), 0)


def _recorded_group(folder: Path) -> int | None:
    """The process group written in the folder, if its leader still lives; a number that was given
    anew is another's.
    """
    try:
        record = json.loads((folder / RECORD).read_text())
        leader = psutil.Process(int(record["group"]))
        return leader.pid if abs(leader.create_time() - float(record["started"])) < 1 else None
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        return None
