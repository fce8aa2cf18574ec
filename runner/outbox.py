"""Outcomes wait on disk until the site has taken them: no restart, power cut or outage of the site
loses one.

outbox/<job>.<attempt>/body.json.gz     the result call's body, sent byte for byte each time
outbox/<job>.<attempt>/artifacts/       files that go along
refused/<job>.<attempt>/                what the site will never take, with reason.txt, for a person
to look at
"""

import gzip
import json
import os
import re
import shutil
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import structlog

from runner.locks import alone
from runner.outcome import without_result
from runner.site import NotAllowed, Refused, Site, SiteError, Stale

ARTIFACT_LIMIT_BYTES = 64 * 1024**2
ENTRY = re.compile(r"[^.].*\.\d+")  # <job>.<attempt>
BODY, ARTIFACTS = "body.json.gz", "artifacts"

logger = structlog.get_logger(__name__)


class Outbox:
    """The outbox of one worker. Its processes deliver in turn, under a lock."""

    def __init__(self, worker_dir: Path) -> None:
        self.folder = worker_dir / "outbox"
        self.refused = worker_dir / "refused"
        for folder in (self.folder, self.refused):
            folder.mkdir(parents=True, exist_ok=True)

    def put(self, job_id: str, attempt: int, body: bytes, artifacts: Iterable[Path] = ()) -> None:
        """Store an outcome; the artifacts are moved. On return it is on the disk; OSError when that
        has no room.
        """
        final = self.folder / f"{job_id}.{attempt}"
        new = self.folder / f".new-{final.name}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            (new / ARTIFACTS).mkdir(parents=True)
            _write_through(new / BODY, gzip.compress(body, mtime=0))
            for artifact in artifacts:
                artifact.replace(new / ARTIFACTS / artifact.name)
            for folder in (new / ARTIFACTS, new):
                _sync(folder)
            shutil.rmtree(final, ignore_errors=True)
            new.rename(final)
            _sync(self.folder)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            raise

    def waiting(self) -> list[Path]:
        """What is to be delivered, oldest first."""
        entries = (path for path in self.folder.iterdir() if ENTRY.fullmatch(path.name))
        return sorted(entries, key=lambda path: path.stat().st_mtime)

    def deliver(self, site: Site, patience_s: float = 0) -> str:
        """Send what waits; `patience_s` seconds for each call. Returns why something still waits,
        or an empty text.
        """
        try:
            with alone(self.folder / ".lock"):
                return self._deliver_all(site, patience_s)
        except (NotAllowed, OSError) as error:
            return str(error)

    def _deliver_all(self, site: Site, patience_s: float) -> str:
        """An entry that the site or the disk cannot handle now does not hold up the others."""
        problem = ""
        entries = deque(self.waiting())
        while entries:
            try:
                entries.extend(self._deliver(entries.popleft(), site, patience_s))
            except NotAllowed:
                raise
            except (SiteError, OSError) as error:
                problem = str(error)
        return problem

    def _deliver(self, entry: Path, site: Site, patience_s: float) -> list[Path]:
        """Send one entry and remove it; returns the entries that come in its place."""
        job_id, attempt = entry.name.rsplit(".", 1)
        log = logger.bind(job=job_id, attempt=int(attempt))
        try:
            state = site.result(job_id, (entry / BODY).read_bytes(), patience_s)
            self._deliver_artifacts(entry, site, patience_s)
            log.info("result delivered", state=state)
        except Stale as answer:
            log.warning("result dropped: another attempt counts", answer=str(answer))
        except Refused as answer:
            return self._put_aside(entry, str(answer))
        shutil.rmtree(entry)
        return []

    def _deliver_artifacts(self, entry: Path, site: Site, patience_s: float) -> None:
        job_id, attempt = entry.name.rsplit(".", 1)
        for artifact in sorted((entry / ARTIFACTS).iterdir()):
            try:
                site.artifact(
                    job_id, int(attempt), artifact.name, artifact.read_bytes(), patience_s
                )
                artifact.unlink()
            except Refused as answer:
                kept = self.refused / entry.name
                kept.mkdir(exist_ok=True)
                artifact.replace(kept / artifact.name)
                logger.error("artifact refused", job=job_id, kept_in=str(kept), answer=str(answer))

    def _put_aside(self, entry: Path, reason: str) -> list[Path]:
        """Keep what was refused in refused/, and tell the site how the job ended all the same:
        without the result.
        """
        job_id, attempt = entry.name.rsplit(".", 1)
        body = json.loads(gzip.decompress((entry / BODY).read_bytes()))
        kept = self.refused / (entry.name if body["result"] else f"{entry.name}-without-result")
        shutil.rmtree(kept, ignore_errors=True)
        entry.replace(kept)
        (kept / "reason.txt").write_text(reason + "\n")
        logger.error(
            "result refused", job=job_id, attempt=int(attempt), kept_in=str(kept), answer=reason
        )
        if not body["result"]:
            return []
        why = f"The site refused the result, which the worker keeps in {kept}: {reason}"
        self.put(job_id, int(attempt), without_result(body, why))
        return [entry]


def sendable(files: Iterable[Path]) -> list[Path]:
    """Those of `files` that can be sent as artifacts: plain files of up to 64 MiB."""
    plain = [path for path in files if path.is_file() and not path.is_symlink()]
    large = [path for path in plain if path.stat().st_size > ARTIFACT_LIMIT_BYTES]
    for path in large:
        logger.warning(
            "artifact left out: it is over 64 MiB", name=path.name, size_bytes=path.stat().st_size
        )
    return [path for path in plain if path not in large]


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Names in a folder are on the disk only when the folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
