"""Outcomes wait on disk until the site has taken them.

No restart, power cut or outage of the site loses one.

outbox/<job>.<attempt>/body.json.gz   the result call's body, sent byte for byte each time
outbox/<job>.<attempt>/artifacts/     files that are sent with it
refused/<job>.<attempt>/              what the site will never take, with reason.txt, for a person
"""

import gzip
import json
import math
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from runner.locks import exclusive_lock
from runner.outcome import body_without_result
from runner.site import NotAllowed, RequestRefused, Site, SiteError, StaleAttempt

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

    def put(self, job_id: str, attempt: int, body: bytes, artifacts: Sequence[Path] = ()) -> None:
        """Store an outcome; the artifacts are moved. Raises OSError when the disk has no room, and
        leaves the artifacts where they were, for another attempt.

        On return it is on the disk.
        """
        entry = self.folder / f"{job_id}.{attempt}"
        new = self.folder / f".new-{entry.name}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            (new / ARTIFACTS).mkdir(parents=True)
            (new / BODY).write_bytes(gzip.compress(body, mtime=0))
            moved = [artifact.replace(new / ARTIFACTS / artifact.name) for artifact in artifacts]
            for path in (new / BODY, *moved, new / ARTIFACTS, new):
                _sync(path)
            shutil.rmtree(entry, ignore_errors=True)
            new.rename(entry)
            _sync(self.folder)
        except OSError:
            for artifact in artifacts:
                with suppress(OSError):  # it was not moved yet
                    (new / ARTIFACTS / artifact.name).replace(artifact)
            shutil.rmtree(new, ignore_errors=True)
            raise

    def waiting(self) -> list[Path]:
        """List what is to be delivered, oldest first."""
        entries = [path for path in self.folder.iterdir() if ENTRY.fullmatch(path.name)]
        return sorted(entries, key=lambda path: path.stat().st_mtime)

    def deliver(self, site: Site, patience_s: float | None = None) -> str:
        """Send what waits; returns why something still waits, or an empty text.

        patience_s: how long all of it may take, another process that delivers included; only a
        call that has begun is not cut off. None: as long as it takes, with one try of each call.
        """
        give_up_at = math.inf if patience_s is None else time.monotonic() + patience_s
        try:
            with exclusive_lock(self.folder / ".lock", give_up_at):
                return self._deliver_all(site, give_up_at)
        except (NotAllowed, OSError) as error:
            return str(error)

    def _deliver_all(self, site: Site, give_up_at: float) -> str:
        """An entry that the site or the disk cannot handle now does not hold up the others."""
        problem = ""
        entries = deque(self.waiting())
        while entries:
            now = time.monotonic()
            if now >= give_up_at:
                return problem or f"no time was left for {len(entries)} of what waits"
            # An equal share of what is left: no entry takes the patience of those behind it
            deadline = now + (give_up_at - now) / len(entries)
            try:
                entries.extend(self._deliver(entries.popleft(), site, deadline))
            except NotAllowed:
                raise
            except (SiteError, OSError) as error:
                problem = str(error)
        return problem

    def _deliver(self, entry: Path, site: Site, give_up_at: float) -> list[Path]:
        """Send one entry and remove it; returns the entries that replace it."""
        job_id, attempt = _job_and_attempt(entry)
        log = logger.bind(job=job_id, attempt=attempt)
        try:
            state = site.result(job_id, (entry / BODY).read_bytes(), _patience_s(give_up_at))
            self._deliver_artifacts(entry, site, give_up_at)
            log.info("result delivered", state=state)
        except StaleAttempt as answer:
            log.warning("result dropped: another attempt counts", answer=str(answer))
        except RequestRefused as answer:
            return self._put_aside(entry, str(answer))
        shutil.rmtree(entry)
        return []

    def _deliver_artifacts(self, entry: Path, site: Site, give_up_at: float) -> None:
        job_id, attempt = _job_and_attempt(entry)
        for artifact in sorted((entry / ARTIFACTS).iterdir()):
            content, patience_s = artifact.read_bytes(), _patience_s(give_up_at)
            try:
                site.artifact(job_id, attempt, artifact.name, content, patience_s)
                artifact.unlink()
            except RequestRefused as answer:
                kept = self.refused / entry.name
                kept.mkdir(exist_ok=True)
                artifact.replace(kept / artifact.name)
                logger.error("artifact refused", job=job_id, kept_in=str(kept), answer=str(answer))

    def _put_aside(self, entry: Path, reason: str) -> list[Path]:
        """Keep what was refused in refused/, and put in its place the outcome without the result.

        So the site still learns how the job ended.
        """
        job_id, attempt = _job_and_attempt(entry)
        body = json.loads(gzip.decompress((entry / BODY).read_bytes()))
        has_result = bool(body["result"])
        kept = self.refused / (entry.name if has_result else f"{entry.name}-without-result")
        shutil.rmtree(kept, ignore_errors=True)
        entry.replace(kept)
        (kept / "reason.txt").write_text(reason + "\n")
        logger.error(
            "result refused", job=job_id, attempt=attempt, kept_in=str(kept), answer=reason
        )
        if not has_result:
            return []
        why = f"The site refused the result, which the worker keeps in {kept}: {reason}"
        self.put(job_id, attempt, body_without_result(body, why))
        return [entry]


def sendable_artifacts(files: Iterable[Path]) -> list[Path]:
    """Select the `files` that can be sent as artifacts: readable plain files of up to 64 MiB."""
    sendable = []
    for path in files:
        if not path.is_file() or path.is_symlink() or not os.access(path, os.R_OK):
            continue
        size_bytes = path.stat().st_size
        if size_bytes > ARTIFACT_LIMIT_BYTES:
            logger.warning(
                "artifact left out: it is over 64 MiB", name=path.name, size_bytes=size_bytes
            )
            continue
        sendable.append(path)
    return sendable


def _patience_s(give_up_at: float) -> float:
    """For a call of a delivery that ends then; none, which is one try, where it has no end."""
    return 0 if math.isinf(give_up_at) else max(0, give_up_at - time.monotonic())


def _job_and_attempt(entry: Path) -> tuple[str, int]:
    job_id, attempt = entry.name.rsplit(".", 1)
    return job_id, int(attempt)


def _sync(path: Path) -> None:
    """Write a file or folder through: names in a folder are on the disk only when the folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
