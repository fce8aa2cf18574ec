"""The folder of environments: each made once, used by many jobs, evicted by least recent use.

<key>/          a finished environment, with environment.json (what it is), manifest.txt and `used`
(its time of use) <key>.lock      held shared by those that use it, alone by the one that makes or
removes it <key>.failed    why it could not be made a moment ago .new-<key>/     one that is being
made, or was when its maker was killed .old-<key>/     one that is being removed

Several workers of one computer may share the folder. An environment comes into place by a rename,
so that a half-built one is never seen under its name.
"""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import structlog

from runner.environments import manifest
from runner.locks import try_lock, wait_for_lock

RECORD, USED = "environment.json", "used"
# The other jobs of a run fail at once, instead of each installing gigabytes in vain
FAILURE_LASTS_S = 300
MB = 1024**2

logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Record:
    """What an environment is. facts: what its interpreter says of torch; size_mb: shared files
    counted too.
    """

    build: str
    version: str
    libraries: dict[str, str]
    requirements: str
    facts: dict[str, Any] = field(default_factory=dict)
    size_mb: int = 0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Raises OSError, ValueError, TypeError."""
        return cls(**json.loads((folder / RECORD).read_text()))


Make = Callable[[Path, int], Record]
Tell = Callable[[str, str, Record, str], None]  # key, state, what it is, why


class Store:
    """The folder, and who is told about what happens to its environments."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder
        self._tell = tell

    @contextmanager
    def used(
        self, key: str, make: Make, tick: Callable[[float], None]
    ) -> Iterator[tuple[Path, Record]]:
        """The environment `key`, which stays where it is in the `with` block.

        Where it is missing or damaged, `make(folder, lock)` fills a new folder and says what it has
        become; lock is a descriptor for its processes to keep. While another makes it, tick(seconds
        waited) is called; it may raise.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            record = self._whole(key, lock, tick)
            while record is None:
                wait_for_lock(lock, tick)
                if self._found(key) is None:
                    self._make(key, make, lock)
                # Between the two locks another may have removed it
                record = self._whole(key, lock, tick)
            (self.folder / key / USED).touch()
            self._tell(key, "ready", record, "")
            yield self.folder / key, record
        finally:
            os.close(lock)

    def failure(self, key: str) -> str:
        """Why this environment could not be made within the last minutes; empty where nobody tried,
        or it went well.
        """
        note = self._note(key)
        try:
            age_s = time.time() - note.stat().st_mtime
            return note.read_text() if age_s < FAILURE_LASTS_S else ""
        except OSError:
            return ""

    def remember_failure(self, key: str, words: str) -> None:
        with suppress(OSError):  # a disk that takes no note: the next job finds out for itself
            self.folder.mkdir(parents=True, exist_ok=True)
            self._note(key).write_text(words)

    def all(self) -> dict[str, tuple[Record, float]]:
        """What is there: key -> record and time of last use, seconds since 1970; the most recently
        used first.
        """
        found = {}
        for place in self.folder.glob(f"[!.]*/{RECORD}"):
            with suppress(OSError, ValueError, TypeError):
                found[place.parent.name] = (
                    Record.read(place.parent),
                    (place.parent / USED).stat().st_mtime,
                )
        return dict(sorted(found.items(), key=lambda each: -each[1][1]))

    def remove_leftovers(self) -> None:
        """Remove what killed processes were making or removing. What living ones of other workers
        make is locked.
        """
        for place in [*self.folder.glob(".new-*"), *self.folder.glob(".old-*")]:
            with self._locked_at_once(place.name.partition("-")[2]) as is_ours:
                if is_ours:
                    logger.warning("removed what a killed worker left", folder=place.name)
                    shutil.rmtree(place, ignore_errors=True)

    def evict(self, key: str, message: str) -> bool:
        """Remove an environment unless somebody uses it; whether it is gone."""
        with self._locked_at_once(key) as is_ours:
            if is_ours:
                record = self.all().get(key)
                self._remove(key)
                if record:
                    self._tell(key, "evicted", record[0], message)
            return is_ours

    def _whole(self, key: str, lock: int, tick: Callable[[float], None]) -> Record | None:
        wait_for_lock(lock, tick, shared=True)
        return self._found(key)

    def _found(self, key: str) -> Record | None:
        """What is there; None where it is missing or damaged."""
        place = self.folder / key
        if not place.exists():
            return None
        try:
            record, problem = Record.read(place), manifest.damage(place)
        except (OSError, ValueError, TypeError) as error:
            record, problem = None, f"{RECORD}: {error}"
        if problem:
            logger.warning("a damaged environment is made anew", key=key, damage=problem)
            if record is not None:
                self._tell(key, "damaged", record, problem)
            return None
        return record

    def _make(self, key: str, make: Make, lock: int) -> None:
        self._remove(key)
        new = self.folder / f".new-{key}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            began = time.monotonic()
            record = make(new, lock)
            size_mb = manifest.write(new) // MB
            record = replace(record, size_mb=size_mb)
            (new / RECORD).write_text(json.dumps(asdict(record), indent=1))
            (new / USED).touch()
            new.rename(self.folder / key)
            self._note(key).unlink(missing_ok=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        logger.info(
            "environment made", key=key, size_mb=size_mb, seconds=round(time.monotonic() - began, 1)
        )

    def _note(self, key: str) -> Path:
        return self.folder / f"{key}.failed"

    def _remove(self, key: str) -> None:
        """Out of sight at once, then file by file."""
        old = self.folder / f".old-{key}"
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):
            (self.folder / key).rename(old)
        shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _locked_at_once(self, key: str) -> Iterator[bool]:
        """Whether the lock of `key` could be had without waiting; it is held in the `with`
        block.
        """
        lock = os.open(self.folder / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            yield try_lock(lock)
        finally:
            os.close(lock)
