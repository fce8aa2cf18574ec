"""Runs commands such as an installer's as the job's own processes: in its log, ended with it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.job_log import JobLog
from runner.process import SuiteProcess, job_marker, process_variables
from runner.suite_account import SuiteAccount, account_variables, open_to

LIMIT_S = 3600.0  # of one command: gigabytes over a slow line
OUTPUT_CHARACTERS = 2500
# Beginnings of the names of variables with settings of installers and of the network
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


class CommandFailed(Exception):
    """A command failed. The text is its own."""


class JobStopped(Exception):
    """The job was cancelled, is no longer ours, or the worker stops. The text is that one word."""


@dataclass
class CommandRunner:
    """Runs commands one after the other.

    folder: the job's, for what they leave behind; temporary: their TMPDIR; why_stop: asked twice a
    second; keep_open: descriptors of locks that the commands hold even when the worker is killed.
    """

    folder: Path
    temporary: Path
    log: JobLog
    why_stop: Callable[[], str]
    keep_open: Sequence[int] = field(default=())

    def run(
        self,
        command: Sequence[str],
        limit_s: float = LIMIT_S,
        account: SuiteAccount | None = None,
    ) -> None:
        """Raises CommandFailed, JobStopped, OSError. account: whom it runs as; None: the worker."""
        steps = self.folder / "steps"
        folder = steps / str(len(list(steps.glob("*"))))
        folder.mkdir(parents=True)
        extra = {
            name: value for name, value in os.environ.items() if name.upper().startswith(PASSED_ON)
        }
        extra |= {"PYTHONPATH": "", "TMPDIR": str(self.temporary), **account_variables(account)}
        open_to(account, self.temporary)
        log_start = self.log.path.stat().st_size if self.log.path.exists() else 0
        process = SuiteProcess(
            command,
            folder=folder,
            variables=process_variables(os.environ, job_marker(self.folder), extra),
            log=self.log,
            keep_open=self.keep_open,
            account=account,
        )
        end = process.watch(limit_s, self.why_stop)
        if end.stopped_for == "timeout":
            raise CommandFailed(
                f"{Path(command[0]).name} did not end within {limit_s:g} s. "
                f"{self._output(log_start)}"
            )
        if end.stopped_for:
            raise JobStopped(end.stopped_for)
        if end.exit_code != 0:
            silent = f"exit code {end.exit_code}, signal {end.signal}, and no output"
            raise CommandFailed(self._output(log_start) or silent)

    def _output(self, log_start: int) -> str:
        """The end of what was written to the log since it had `log_start` bytes."""
        output = self.log.path.read_bytes()[log_start:]
        text = output.decode(errors="replace").replace("\0", "").strip()
        if len(text) <= OUTPUT_CHARACTERS:
            return text
        return f"… {text[-OUTPUT_CHARACTERS:]}"
