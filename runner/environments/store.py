"""The folder of environments: each made once, used by many jobs, evicted by least recent use.

<key>/         a finished environment, with environment.json (what it is), manifest.txt and `used`
               (its time of use)
<key>.lock     held shared by those that use it, alone by the one that makes or removes it
<key>.failed   why it could not be made a moment ago
.new-<key>/    one that is being made, or was when its maker was killed
.old-<key>/    one that is being removed

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
class EnvironmentRecord:
    """Description of an environment.

    facts: what its interpreter says of torch; size_mb: shared files included.
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


Make = Callable[[Path, int], EnvironmentRecord]
Report = Callable[[str, str, EnvironmentRecord, str], None]  # key, state, what it is, why


@dataclass
class EnvironmentStore:
    """The folder. report: called when the state of an environment changes."""

    folder: Path
    report: Report

    @contextmanager
    def use(
        self, key: str, make: Make, tick: Callable[[float], None]
    ) -> Iterator[tuple[Path, EnvironmentRecord]]:
        """The environment `key`, which nobody removes in the `with` block.

        Where it is missing or damaged, `make(folder, lock)` fills a new folder and returns what it
        has become; lock is a descriptor for its processes to keep open. While another worker makes
        it, tick(seconds waited) is called; it may raise.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = self._open_lock(key)
        try:
            record = self._lock_shared(key, lock, tick)
            while record is None:
                wait_for_lock(lock, tick)
                if self._read_intact(key) is None:
                    self._make(key, make, lock)
                # Between the two locks another may have removed it
                record = self._lock_shared(key, lock, tick)
            (self.folder / key / USED).touch()
            self.report(key, "ready", record, "")
            yield self.folder / key, record
        finally:
            os.close(lock)

    def recent_failure(self, key: str) -> str:
        """Read why the environment could not be made in the last minutes; empty without failure."""
        path = self._failure_file(key)
        try:
            age_s = time.time() - path.stat().st_mtime
            return path.read_text() if age_s < FAILURE_LASTS_S else ""
        except OSError:
            return ""

    def remember_failure(self, key: str, message: str) -> None:
        with suppress(OSError):  # a disk that takes no file: the next job fails by itself
            self.folder.mkdir(parents=True, exist_ok=True)
            self._failure_file(key).write_text(message)

    def all(self) -> dict[str, tuple[EnvironmentRecord, float]]:
        """Key -> record and time of last use (seconds since 1970), the most recently used first."""
        environments = {}
        for path in self.folder.glob(f"[!.]*/{RECORD}"):
            folder = path.parent
            with suppress(OSError, ValueError, TypeError):
                last_used = (folder / USED).stat().st_mtime
                environments[folder.name] = (EnvironmentRecord.read(folder), last_used)
        return dict(sorted(environments.items(), key=lambda item: -item[1][1]))

    def remove_leftovers(self) -> None:
        """Remove what killed processes were making or removing.

        What living processes of other workers make is locked.
        """
        for folder in [*self.folder.glob(".new-*"), *self.folder.glob(".old-*")]:
            key = folder.name.partition("-")[2]
            with self._try_lock(key) as is_locked:
                if is_locked:
                    logger.warning("removed what a killed worker left", folder=folder.name)
                    shutil.rmtree(folder, ignore_errors=True)

    def evict(self, key: str, message: str) -> bool:
        """Remove an environment unless somebody uses it; whether it is gone."""
        with self._try_lock(key) as is_locked:
            if is_locked:
                environment = self.all().get(key)
                self._remove(key)
                if environment:
                    record, _ = environment
                    self.report(key, "evicted", record, message)
            return is_locked

    def _lock_shared(
        self, key: str, lock: int, tick: Callable[[float], None]
    ) -> EnvironmentRecord | None:
        wait_for_lock(lock, tick, shared=True)
        return self._read_intact(key)

    def _read_intact(self, key: str) -> EnvironmentRecord | None:
        """The environment's record; None where the environment is missing or damaged."""
        folder = self.folder / key
        if not folder.exists():
            return None
        try:
            record = EnvironmentRecord.read(folder)
            damage = manifest.describe_damage(folder)
        except (OSError, ValueError, TypeError) as error:
            problem = f"{RECORD}: {error}"
            logger.warning("a damaged environment is made again", key=key, damage=problem)
            return None
        if damage:
            logger.warning("a damaged environment is made again", key=key, damage=damage)
            self.report(key, "damaged", record, damage)
            return None
        return record

    def _make(self, key: str, make: Make, lock: int) -> None:
        self._remove(key)
        new = self.folder / f".new-{key}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            started = time.monotonic()
            record = make(new, lock)
            size_mb = manifest.write(new) // MB
            record = replace(record, size_mb=size_mb)
            (new / RECORD).write_text(json.dumps(asdict(record), indent=1))
            (new / USED).touch()
            new.rename(self.folder / key)
            self._failure_file(key).unlink(missing_ok=True)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        seconds = round(time.monotonic() - started, 1)
        logger.info("environment made", key=key, size_mb=size_mb, seconds=seconds)

    def _remove(self, key: str) -> None:
        """Remove it from sight at once, then file by file."""
        old = self.folder / f".old-{key}"
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):
            (self.folder / key).rename(old)
        shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _try_lock(self, key: str) -> Iterator[bool]:
        """Yield whether the lock of `key` is free; then it is held in the `with` block."""
        lock = self._open_lock(key)
        try:
            yield try_lock(lock)
        finally:
            os.close(lock)

    def _open_lock(self, key: str) -> int:
        return os.open(self.folder / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o666)

    def _failure_file(self, key: str) -> Path:
        return self.folder / f"{key}.failed"
