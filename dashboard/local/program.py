"""One program that is kept running: its output shown and logged, started again when it ends by
itself.
"""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path

from dashboard.local.console import complain, say
from dashboard.local.processes import end, spawn

LOG_BYTES, LOG_GENERATIONS = 10_000_000, 2
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
SETTLED_S = 60.0  # a program that ran for this long is taken to have started well


@dataclass(frozen=True)
class Program:
    """What to run: `stop_steps` are the signals that end it and the seconds that each is given."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    stop_steps: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 5.0),)
    colour: int | None = None


class Kept:
    """A program and the process that runs it just now. All but the reading of its output is one
    thread's.
    """

    def __init__(self, program: Program, folder: Path, logs: Path) -> None:
        self.program = program
        self.process: subprocess.Popen[bytes] | None = None
        self._folder = folder
        logs.mkdir(parents=True, exist_ok=True)
        file = logs / f"{program.name}.log"
        self._log = RotatingFileHandler(file, "a", LOG_BYTES, LOG_GENERATIONS, delay=True)
        self._reader: threading.Thread | None = None
        self._began = 0.0
        self._again_at = 0.0
        self._pause = FIRST_PAUSE_S

    @property
    def log(self) -> Path:
        """Where its output is kept."""
        return Path(self._log.baseFilename)

    def start(self) -> None:
        """Start the process. Has to be called in the thread that lives longest: the process ends
        with it.
        """
        self._began = time.monotonic()
        self.process = spawn(
            self.program.command,
            output=subprocess.PIPE,
            env=self.program.environment,
            folder=self._folder,
        )
        self._reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self._reader.start()

    def ended(self) -> bool:
        """Whether its process does not run just now."""
        return self.process is None or self.process.poll() is not None

    def tend(self) -> None:
        """Look after the process: when it has ended by itself, start it again after a pause that
        grows.
        """
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            self._note_end(self.process.returncode, now)
        elif self.process is None and now >= self._again_at:
            self.start()

    def stop(self) -> None:
        """Stop the process and what it started: signal by signal, then by force."""
        if self.process is not None:
            end(self.process.pid, self.program.stop_steps)
            self._finish()

    def kill(self) -> None:
        """End the process and what it started at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def _finish(self) -> None:
        """Kill what is left of the process's group, and forget it."""
        self.kill()
        if self.process is not None and self._reader is not None:
            self.process.wait()
            self._reader.join(timeout=1)  # one that it started elsewhere may still hold the pipe
            self.process = None

    def _note_end(self, code: int, now: float) -> None:
        self._finish()
        if now - self._began > SETTLED_S:
            self._pause = FIRST_PAUSE_S
        soon = f"starting it again in {self._pause:.0f} s (log: {self.log})"
        complain(f"{self.program.name} {_how(code)}; {soon}")
        self._again_at = now + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE_S)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        for raw in process.stdout or ():
            line = raw.decode(errors="replace").rstrip()
            self._log.emit(logging.makeLogRecord({"msg": "%s", "args": (line,)}))
            say(line, name=self.program.name, colour=self.program.colour)


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by {signal.Signals(-code).name}"
