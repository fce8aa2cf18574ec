"""Git repositories of own models: fetched at the commit that the site pins, told to the site, given
to jobs.

What git fetched is kept in WORKER_DIR/repositories, bare. A job gets the commit's files in a folder
of its own; reading what a repository offers, which imports its files, has the suite do it, as the
account that the suite runs as.
"""

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from runner import locks
from runner.account import open_to
from runner.environments.steps import StepFailed, Steps, Stopped
from runner.joblog import JobLog
from runner.process import Suite, environment, mark_of
from runner.site import SiteError
from runner.worker import Worker

FETCH_S, LIST_S = 600.0, 600.0
MOST_BYTES = 256 * 1024**2  # of the files of a commit
READABLE = 0o755
# No other transport, no question, no program of the repository's own.
SAFELY = (
    "-c",
    "protocol.allow=never",
    "-c",
    "protocol.https.allow=always",
    "-c",
    "protocol.ssh.allow=always",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.sshCommand=ssh -o BatchMode=yes",
)

logger = structlog.get_logger(__name__)


class NotFetched(Exception):
    """A commit could not be had. The text says which, and git's own words."""


def export(pinned: Mapping[str, Any], cache: Path, into: Path, steps: Steps) -> None:
    """Put the files of the pinned commit into the new folder ``into``. Raises NotFetched,
    Stopped.
    """
    git = shutil.which("git")
    if git is None:
        raise NotFetched("git is not installed on this worker: install it (apt-get install git)")
    url, commit = str(pinned["url"]), str(pinned["commit"])
    bare, archive = (
        cache / hashlib.sha256(url.encode()).hexdigest()[:16],
        steps.folder.parent / "models.tar",
    )
    cache.mkdir(parents=True, exist_ok=True)
    archive.parent.mkdir(parents=True, exist_ok=True)
    into.parent.mkdir(parents=True, exist_ok=True)
    try:
        with locks.alone(cache / f"{bare.name}.lock"):
            _fetch([git, *SAFELY], url, commit, bare, steps)
            steps.run(
                [
                    git,
                    "--git-dir",
                    str(bare),
                    "archive",
                    "--format=tar",
                    f"--output={archive}",
                    commit,
                ],
                FETCH_S,
            )
        _unpack(archive, into)
    except (StepFailed, OSError, tarfile.TarError) as error:
        raise NotFetched(f"Commit {commit[:12]} of {url} could not be fetched: {error}") from error
    finally:
        archive.unlink(missing_ok=True)


def _fetch(git: Sequence[str], url: str, commit: str, bare: Path, steps: Steps) -> None:
    """The commit into the bare repository: alone where the server gives it out, else with all
    branches and tags.
    """
    if not bare.exists():
        steps.run([*git, "init", "--quiet", "--bare", str(bare)], FETCH_S)
    of = [*git, "--git-dir", str(bare)]
    try:
        steps.run([*of, "cat-file", "-e", f"{commit}^{{commit}}"], FETCH_S)
        return
    except StepFailed:
        logger.info("fetching own models", url=url, commit=commit)
    try:
        steps.run([*of, "fetch", "--quiet", "--depth=1", "--no-tags", "--", url, commit], FETCH_S)
    except StepFailed:
        everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        steps.run([*of, "fetch", "--quiet", "--no-tags", "--", url, *everything], FETCH_S)


def _unpack(archive: Path, into: Path) -> None:
    """Raises tarfile.FilterError for a file that would lie elsewhere, OSError for too many
    bytes.
    """
    with tarfile.open(archive) as files:
        if sum(member.size for member in files) > MOST_BYTES:
            raise OSError(
                f"its files take more than {MOST_BYTES // 1024**2} MB: keep weights and data "
                "out of it"
            )
        files.extractall(into, filter="data")
    into.chmod(READABLE)


@dataclass
class Repositories:
    """Tells the site, in a thread of its own, what newly pinned repositories offer; each revision
    once.
    """

    worker: Worker
    _told: set[tuple[str, int]] = field(default_factory=set)
    _thread: threading.Thread | None = None

    def look(self, pinned: Sequence[Mapping[str, Any]]) -> None:
        """Begin with those that have not been told; does not wait. What could not be told is tried
        at the next look.
        """
        new = [each for each in pinned if (each["key"], each["revision"]) not in self._told]
        if new and not (self._thread and self._thread.is_alive()):
            self._thread = threading.Thread(target=self._tell_all, args=(new,), daemon=True)
            self._thread.start()

    def _tell_all(self, pinned: Sequence[Mapping[str, Any]]) -> None:
        for each in pinned:
            try:
                offered, problem = self._read(each)
                self.worker.site.repository(
                    str(each["key"]), int(each["revision"]), offered, problem
                )
                self._told.add((str(each["key"]), int(each["revision"])))
            except (SiteError, Stopped, OSError) as error:
                logger.warning(
                    "the site was not told of own models", repository=each["key"], why=str(error)
                )

    def _read(self, pinned: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """What it offers, and what is wrong with it."""
        with tempfile.TemporaryDirectory(prefix="cw-models-") as name:
            folder = Path(name)
            log = JobLog(folder / "log.txt")
            steps = Steps(folder / "steps", folder, log, mark_of(folder), self._why_stop)
            try:
                export(pinned, cache_of(self.worker), folder / "models", steps)
                return self._listed(folder, log)
            except NotFetched as error:
                return [], str(error)

    def _listed(self, folder: Path, log: JobLog) -> tuple[list[dict[str, Any]], str]:
        settings, within, out = self.worker.settings, self.worker.environment, folder / "out"
        out.mkdir()
        folder.chmod(READABLE)
        open_to(settings.suite_account, out)
        variables = environment(
            os.environ,
            mark_of(folder),
            {
                "PYTHONPATH": within.python_path,
                **(settings.suite_account.variables if settings.suite_account else {}),
            },
        )
        command = [
            *within.command,
            "list",
            "--json",
            "--from",
            str(folder / "models"),
            "--out",
            str(out / "list.json"),
        ]
        suite = Suite(
            command, folder=out, variables=variables, log=log, account=settings.suite_account
        )
        ended = suite.watch(LIST_S, self._why_stop)
        if ended.stopped_for and ended.stopped_for != "timeout":
            raise Stopped(ended.stopped_for)
        try:
            told = json.loads((out / "list.json").read_bytes())
            inside = str(folder / "models")
            mine = [
                each
                for each in told["benchmarks"]
                if str(each.get("source", "")).startswith(inside)
            ]
            wrong = [
                each
                for each in told["sources"]
                if each["source"].startswith(inside) and each["problem"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return [], f"it could not be read: {log.words() or 'the suite gave no answer'}"
        words = [f"{each['source'][len(inside) + 1 :]}: {each['problem']}" for each in wrong]
        return [{**each, "source": ""} for each in mine], "\n".join(words).replace(f"{inside}/", "")

    def _why_stop(self) -> str:
        return "stopping" if self.worker.stopping.is_set() else ""


def cache_of(worker: Worker) -> Path:
    """Where what was fetched is kept."""
    return worker.settings.worker_dir / "repositories"
