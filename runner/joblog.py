"""What a job's process printed: kept in a file of limited size, read from its end."""

import os
import re
from contextlib import suppress
from pathlib import Path

LIMIT_BYTES = 16 * 1024**2
KEPT_BYTES = 1024**2  # of a log that grew over the limit
TAIL_BYTES = 16_000  # what the site takes
WORDS_LINES = 12
PHASE = re.compile(r"^phase: ([A-Za-z0-9_ -]{1,40})\r?$", re.MULTILINE)


class JobLog:
    """The file that the suite's stdout and stderr are appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._phase = ""

    def open(self) -> int:
        """A descriptor for the process to write to. O_APPEND: it goes on at the new end after a
        trim.
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
        """The last 16 kB as text: what is no UTF-8 replaced, NULs (which Postgres cannot store)
        left out.
        """
        text = self._last(TAIL_BYTES).decode(errors="replace").replace("\0", "")
        return text.encode()[-TAIL_BYTES:].decode(errors="ignore")

    def phase(self) -> str:
        """The stage that the suite last said it was in (`phase: <name>`); empty before the
        first.
        """
        self._phase = next(reversed(PHASE.findall(self.tail())), self._phase)
        return self._phase

    def words(self) -> str:
        """The last lines that are not about phases: the suite's own message, at most 2,000
        characters.
        """
        lines = PHASE.sub("", self.tail()).strip().splitlines()[-WORDS_LINES:]
        return "\n".join(lines)[-2000:]

    def is_longer_than_tail(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > TAIL_BYTES

    def trim(self) -> None:
        """Keep the end of a log that grew over the limit, so that a flood of lines does not fill
        the disk.
        """
        with suppress(OSError):  # what cannot be trimmed now is tried again soon
            if self.path.stat().st_size <= LIMIT_BYTES:
                return
            end = self._last(KEPT_BYTES)
            os.truncate(self.path, 0)
            # Appending, as the process does: neither writes over the other
            with self.path.open("ab") as file:
                file.write(b"[the beginning was cut: the log grew over 16 MiB]\n" + end)

    def _last(self, count: int) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - count, 0))
                return file.read(count)
        except FileNotFoundError:
            return b""
