"""The whole system as `make up` starts it, in a folder and on a port of its own."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.builders.migrated_postgres import copy_migrated_postgres

ROOT = Path(__file__).resolve().parents[2]
START_S = 600.0  # on a machine that others keep busy
OURS = (
    "DATABASE_URL",
    "BROKER_URL",
    "SECRET_KEY",
    "WORKER_TOKEN",
    "SITE_URL",
    "PUBLIC_READ",
    "DJANGO_SETTINGS_MODULE",
)


class LocalSite:
    """A running supervisor; `lines` is what it has printed so far.

    Its device lock is its own, so that a developer's `make up` neither waits for the tests nor
    stops them.
    """

    def __init__(self, var: Path, port: int, extra: dict[str, str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.var = var
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        own = {"VAR_DIR": str(var), "PORT": str(port), "WORKER_LOCK_DIR": str(var)}
        self._environment = {**inherited, **own, **extra}
        self.start()

    def start(self) -> None:
        """Start the supervisor, also after `kill`, with `lines` empty."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dashboard.local.supervisor"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.pid = self._process.pid
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(line.rstrip())

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """The first printed line that matches; fails with the output when none does in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            output_is_complete = not self._reader.is_alive()
            for line in list(self.lines):
                if match := re.search(pattern, line):
                    return match
            if output_is_complete:
                break
            time.sleep(0.1)
        output = "\n".join(self.lines[-60:])
        raise AssertionError(f"no line matched {pattern!r} within {seconds} s:\n{output}")

    def stop(self) -> int:
        """Send Ctrl-C, kill -9 after a minute, which ends its programs too; the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def require_running(self) -> None:
        """Fails with its last lines where the supervisor has ended by itself."""
        if self._process.poll() is not None:
            output = "\n".join(self.lines[-20:])
            raise AssertionError(
                f"the supervisor ended, exit code {self._process.poll()}:\n{output}"
            )

    def kill(self) -> None:
        """kill -9 of the supervisor itself."""
        self._process.kill()
        self._process.wait(timeout=30)


@contextmanager
def local_site(var: Path, *, migrated: bool = False, **extra: str) -> Iterator[LocalSite]:
    """A site with its data in `var`, up when the block begins and stopped when it ends.

    migrated: its database need not be made, which takes half of a first start.
    """
    if migrated:
        copy_migrated_postgres(var / "postgres")
    site = LocalSite(var, free_port(), extra)
    try:
        site.wait_for(r"up in [\d.]+ s", START_S)
        yield site
    finally:
        site.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
