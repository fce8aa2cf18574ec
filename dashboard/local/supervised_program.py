"""A program that is kept running: output shown and logged, restarted when it ends by itself."""

import logging
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path

from dashboard.local.console import print_error, print_info
from dashboard.local.processes import spawn, terminate
from dashboard.local.restarts import Restarts

LOG_BYTES, LOG_GENERATIONS = 10_000_000, 2


@dataclass(frozen=True)
class Program:
    """Program to run.

    stop_steps: the signals that end it, and the seconds that each is given
    death_signal: what the kernel sends it when the supervisor dies
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    stop_steps: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 5.0),)
    colour: int | None = None
    death_signal: signal.Signals = signal.SIGTERM


class SupervisedProgram:
    """A program and its current process. Call it from one thread: only its output has another."""

    def __init__(self, program: Program, folder: Path, logs: Path) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self._folder = folder
        logs.mkdir(parents=True, exist_ok=True)
        file = logs / f"{program.name}.log"
        self._log = RotatingFileHandler(file, "a", LOG_BYTES, LOG_GENERATIONS, delay=True)
        self._reader: threading.Thread | None = None
        self._restarts = Restarts()

    @property
    def log(self) -> Path:
        """The file that has its output."""
        return Path(self._log.baseFilename)

    def start(self) -> None:
        """Start the process, from the thread that lives longest: the process ends with it."""
        self._restarts.begin()
        self.process = spawn(
            self.program.command,
            output=subprocess.PIPE,
            env=self.program.environment,
            folder=self._folder,
            death_signal=self.program.death_signal,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def ended(self) -> bool:
        """Test whether no process is running."""
        return self.process is None or self.process.poll() is not None

    def restart_if_ended(self) -> None:
        """Restart the process after a growing delay when it has ended by itself. Call it often."""
        if self.process is not None and self.process.poll() is not None:
            exit_code = self.process.returncode
            self._finish()
            end = f"ended with exit code {exit_code}"
            if exit_code < 0:
                end = f"was killed by {signal.Signals(-exit_code).name}"
            self._plan_restart(end)
        elif self._restarts.is_due:
            try:
                self.start()
            except OSError as error:
                self._plan_restart(f"could not be started ({error})")

    def stop(self) -> None:
        """Stop the process and what it started: signal by signal, then by force."""
        if self.process is not None:
            terminate(self.process.pid, self.program.stop_steps)
            self._finish()

    def kill(self) -> None:
        """End the process and what it started at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _finish(self) -> None:
        """Kill what is left of the process group, and drop the process."""
        self.kill()
        if self.process is not None and self._reader is not None:
            self.process.wait()
            self._reader.join(timeout=1)  # a process of another group may still hold the pipe
            self.process = None

    def _plan_restart(self, why: str) -> None:
        print_error(f"{self.program.name} {why}; {self._restarts.plan(self.log)}")

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        for raw in process.stdout or ():
            line = raw.decode(errors="replace").rstrip()
            self._log.emit(logging.makeLogRecord({"msg": "%s", "args": (line,)}))
            print_info(line, name=self.program.name, colour=self.program.colour)
