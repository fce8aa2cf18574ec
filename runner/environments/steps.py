"""Runs an installer's commands as the job's own processes: in its log, and ended with it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.joblog import JobLog
from runner.process import Suite, environment

LIMIT_S = 3600.0  # of one command: gigabytes over a slow line
WORDS_CHARACTERS = 2500
PASSED_ON = (
    "UV_",
    "PIP_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT",
    "REQUESTS_CA",
    "NETRC",
)


class StepFailed(Exception):
    """A command of an installer failed. The text is its own."""


class Stopped(Exception):
    """The job was cancelled, is no longer ours, or the worker stops. The text is that one word."""


@dataclass
class Steps:
    """Commands, one after the other.

    folder: for what they leave behind; temporary: their TMPDIR; marker: the job's mark, in each
        process's environment;
    why_stop: asked twice a second; keep_open: descriptors of locks that have to outlive us in them.
    """

    folder: Path
    temporary: Path
    log: JobLog
    marker: str
    why_stop: Callable[[], str]
    keep_open: Sequence[int] = field(default=())

    def run(self, command: Sequence[str], limit_s: float = LIMIT_S) -> None:
        """Raises StepFailed, Stopped, OSError."""
        place = self.folder / str(len(list(self.folder.glob("*"))))
        place.mkdir(parents=True)
        begin = self.log.path.stat().st_size if self.log.path.exists() else 0
        step = Suite(
            command,
            folder=place,
            variables=self._variables(),
            log=self.log,
            keep_open=self.keep_open,
        )
        ended = step.watch(limit_s, self.why_stop)
        if ended.stopped_for == "timeout":
            raise StepFailed(
                f"{Path(command[0]).name} did not end within {limit_s:g} s. {self._said(begin)}"
            )
        if ended.stopped_for:
            raise Stopped(ended.stopped_for)
        if ended.exit_code != 0:
            raise StepFailed(
                self._said(begin)
                or f"exit code {ended.exit_code}, signal {ended.signal}, and no word"
            )

    def _variables(self) -> dict[str, str]:
        """What any process of a job may know, and the settings of installers and of the network."""
        of_installers = {
            name: value for name, value in os.environ.items() if name.upper().startswith(PASSED_ON)
        }
        return environment(
            os.environ,
            self.marker,
            {**of_installers, "PYTHONPATH": "", "TMPDIR": str(self.temporary)},
        )

    def _said(self, begin: int) -> str:
        """What was written to the log since it had `begin` bytes, its end."""
        text = self.log.path.read_bytes()[begin:].decode(errors="replace").replace("\0", "").strip()
        return text if len(text) <= WORDS_CHARACTERS else f"… {text[-WORDS_CHARACTERS:]}"
