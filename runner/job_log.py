"""Output of a job's process: kept in a file of limited size, read from its end."""

import os
import re
from contextlib import suppress
from pathlib import Path

LIMIT_BYTES = 16 * 1024**2
KEPT_BYTES = 1024**2  # of a log that grew over the limit
TAIL_BYTES = 16_000  # what the site takes
LAST_LINES = 12
READINGS = 1000  # of a log that goes on growing, before it is cut
PHASE = re.compile(r"^phase: ([A-Za-z0-9_ -]{1,40})\r?$", re.MULTILINE)


class JobLog:
    """The file that the suite's stdout and stderr are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._phase = ""

    def open(self) -> int:
        """A descriptor for the process to write to.

        O_APPEND: it continues at the new end after a trim.
        """
        return os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(self, line: str) -> None:
        """Write a line of our own."""
        descriptor = self.open()
        try:
            os.write(descriptor, f"{line}\n".encode())
        finally:
            os.close(descriptor)

    def tail(self) -> str:
        """The last 16 kB as text.

        What is not UTF-8 is replaced; NULs, which Postgres cannot store, are left out.
        """
        text = self._last_bytes(TAIL_BYTES).decode(errors="replace").replace("\0", "")
        return text.encode()[-TAIL_BYTES:].decode(errors="ignore")

    def phase(self) -> str:
        """The phase that the suite last reported (`phase: <name>`); empty before the first."""
        phases = PHASE.findall(self.tail())
        if phases:
            self._phase = phases[-1]
        return self._phase

    def last_words(self) -> str:
        """The last lines that do not report phases, at most 2,000 characters."""
        lines = PHASE.sub("", self.tail()).strip().splitlines()[-LAST_LINES:]
        return "\n".join(lines)[-2000:]

    def is_longer_than_tail(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > TAIL_BYTES

    def trim(self) -> None:
        """Keep only the end of a log over the limit, so that it does not fill the disk."""
        with suppress(OSError):  # what cannot be trimmed now is tried again soon
            if self.path.stat().st_size <= LIMIT_BYTES:
                return
            end = self._last_bytes_until_quiet(KEPT_BYTES)
            os.truncate(self.path, 0)
            # Appending, as the process does: neither writes over the other
            with self.path.open("ab") as file:
                file.write(b"[the beginning was cut: the log grew over 16 MiB]\n" + end)

    def _last_bytes_until_quiet(self, count: int) -> bytes:
        """And what is written while they are read, which a truncation would lose: a process's last
        line, too. Of one that never pauses something is lost in the middle.
        """
        with self.path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - count, 0))
            end = file.read()
            for _ in range(READINGS):
                more = file.read()
                if not more:
                    break
                end = (end + more)[-count:]
        return end

    def _last_bytes(self, count: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - count, 0))
                return file.read(count)
        except FileNotFoundError:
            return b""
