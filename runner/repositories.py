"""Git repositories of own models: fetched at the commit that the site pins, and given to jobs.

What git fetched is kept in WORKER_DIR/repositories, bare. A job gets the commit's files in a folder
of its own. What a repository offers is reported to the site: the suite reads it, which imports its
files, as the account that the suite runs as.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from runner.commands import CommandFailed, CommandRunner, JobStopped
from runner.job_log import JobLog
from runner.locks import exclusive_lock
from runner.process import SuiteProcess, job_marker, process_variables
from runner.site import SiteError
from runner.suite_account import account_variables, open_to
from runner.suite_files import read_suite_file
from runner.worker import Worker

FETCH_S, LIST_S = 600.0, 600.0
MAX_BYTES = 256 * 1024**2  # of the files of a commit
TAR_BLOCK = 512  # bytes: what a file takes at least
READABLE = 0o755
# No other transport, no question, no program of the repository's own
SAFE_CONFIG = (
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
    "core.hooksPath=/dev/null",
    "core.sshCommand=ssh -o BatchMode=yes",
)

logger = structlog.get_logger(__name__)


class NotFetched(Exception):
    """A commit could not be fetched. The text says which, and git's own words."""


def export(pinned: Mapping[str, Any], cache: Path, target: Path, commands: CommandRunner) -> None:
    """Put the files of the pinned commit into the new folder `target`.

    Raises NotFetched, JobStopped.
    """
    git = shutil.which("git")
    if git is None:
        raise NotFetched("git is not installed on this worker: install it (apt-get install git)")
    url, commit = str(pinned["url"]), str(pinned["commit"])
    bare = cache / hashlib.sha256(url.encode()).hexdigest()[:16]
    archive = commands.folder / "models.tar"
    for folder in (cache, archive.parent, target.parent):
        folder.mkdir(parents=True, exist_ok=True)
    git_archive = [git, "--git-dir", str(bare), "archive", "--format=tar", f"--output={archive}"]
    try:
        with exclusive_lock(cache / f"{bare.name}.lock"):
            _fetch(git, url, commit, bare, commands)
            _require_small([git, "--git-dir", str(bare)], commit)
            commands.run([*git_archive, commit], FETCH_S)
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")  # refuses a file outside of the folder
        target.chmod(READABLE)
    except (CommandFailed, OSError, tarfile.TarError) as error:
        raise NotFetched(f"Commit {commit[:12]} of {url} could not be fetched: {error}") from error
    finally:
        archive.unlink(missing_ok=True)


def _fetch(git: str, url: str, commit: str, bare: Path, commands: CommandRunner) -> None:
    """Fetch the commit into the bare repository.

    It comes alone where the server allows that, otherwise with all branches and tags.
    """
    safe_git = [git]
    for setting in SAFE_CONFIG:
        safe_git += ["-c", setting]
    if not bare.exists():
        commands.run([*safe_git, "init", "--quiet", "--bare", str(bare)], FETCH_S)
        # Nothing is put into the files while they are exported: they would become larger
        (bare / "info" / "attributes").write_text("* -export-subst\n")
    safe_git += ["--git-dir", str(bare)]
    fetch = [*safe_git, "fetch", "--quiet", "--no-tags"]
    try:
        commands.run([*safe_git, "cat-file", "-e", f"{commit}^{{commit}}"], FETCH_S)
        return
    except CommandFailed:
        logger.info("fetching own models", url=url, commit=commit)
    try:
        commands.run([*fetch, "--depth=1", "--", url, commit], FETCH_S)
    except CommandFailed:
        everything = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
        commands.run([*fetch, "--", url, *everything], FETCH_S)


def _require_small(git: Sequence[str], commit: str) -> None:
    """Raises OSError where the commit's files take too many bytes, before any of them is written.

    Git packs zeros to nothing, and a folder that is in many others once: trees count, too.
    """
    size = 0
    listing = [*git, "ls-tree", "-r", "-t", "--long", commit]
    with subprocess.Popen(listing, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            file_size = line.split(maxsplit=4)[3]  # after mode, type and object; "-": not a file
            size += TAR_BLOCK + (int(file_size) if file_size.isdigit() else 0)
            if size > MAX_BYTES:
                process.kill()
                raise OSError(
                    f"its files take more than {MAX_BYTES // 1024**2} MB: keep weights and data "
                    "out of it"
                )


@dataclass
class Repositories:
    """Reports to the site what newly pinned repositories offer, each revision once."""

    worker: Worker
    _reported: set[tuple[str, int]] = field(default_factory=set)
    _thread: threading.Thread | None = None

    def report_new(self, pinned: Sequence[Mapping[str, Any]]) -> None:
        """Start to report those that are new, in a thread; what fails is tried at the next call."""
        new = [
            repository
            for repository in pinned
            if (repository["key"], repository["revision"]) not in self._reported
        ]
        is_busy = self._thread is not None and self._thread.is_alive()
        if new and not is_busy:
            self._thread = threading.Thread(target=self._report_all, args=(new,), daemon=True)
            self._thread.start()

    def _report_all(self, pinned: Sequence[Mapping[str, Any]]) -> None:
        for repository in pinned:
            key, revision = str(repository["key"]), int(repository["revision"])
            try:
                benchmarks, problem = self._read(repository)
                self.worker.site.repository(key, revision, benchmarks, problem)
                self._reported.add((key, revision))
            except (SiteError, JobStopped, OSError) as error:
                logger.warning(
                    "own models could not be reported to the site", repository=key, why=str(error)
                )

    def _read(self, pinned: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
        """The benchmarks that it offers, and what is wrong with it."""
        with tempfile.TemporaryDirectory(prefix="cw-models-") as name:
            folder = Path(name)
            log = JobLog(folder / "log.txt")
            commands = CommandRunner(folder, folder, log, self._why_stop)
            models = folder / "models"
            try:
                export(pinned, repository_cache(self.worker), models, commands)
            except NotFetched as error:
                return [], str(error)
            try:
                return _read_list(self._list(folder, models, log), models)
            except (OSError, ValueError, KeyError, TypeError):
                reason = log.last_words() or "the suite gave no answer"
                return [], f"it could not be read: {reason}"

    def _list(self, folder: Path, models: Path, log: JobLog) -> Path:
        """Have the suite list what the models offer; the file that it writes.

        Raises JobStopped.
        """
        environment = self.worker.environment
        account = self.worker.settings.suite_account
        out = folder / "out"
        out.mkdir()
        folder.chmod(READABLE)
        open_to(account, out)
        listing = out / "list.json"
        options = ["--json", "--from", str(models), "--out", str(listing)]
        extra = {"PYTHONPATH": environment.python_path, **account_variables(account)}
        suite = SuiteProcess(
            [*environment.command, "list", *options],
            folder=out,
            variables=process_variables(os.environ, job_marker(folder), extra),
            log=log,
            account=account,
        )
        end = suite.watch(LIST_S, self._why_stop)
        if end.stopped_for and end.stopped_for != "timeout":
            raise JobStopped(end.stopped_for)
        return listing

    def _why_stop(self) -> str:
        return "stopping" if self.worker.stopping.is_set() else ""


def _read_list(listing: Path, models: Path) -> tuple[list[dict[str, Any]], str]:
    """The benchmarks of these models, and what is wrong with the files, a line each.

    The suite lists its own benchmarks, too. Raises OSError, ValueError, KeyError, TypeError.
    """
    catalog = json.loads(read_suite_file(listing))
    prefix = str(models)
    benchmarks = []
    for benchmark in catalog["benchmarks"]:
        if str(benchmark.get("source", "")).startswith(prefix):
            benchmarks.append({**benchmark, "source": ""})
    problems = []
    for source in catalog["sources"]:
        if source["source"].startswith(prefix) and source["problem"]:
            name = source["source"][len(prefix) + 1 :]
            problems.append(f"{name}: {source['problem']}")
    return benchmarks, "\n".join(problems).replace(f"{prefix}/", "")


def repository_cache(worker: Worker) -> Path:
    """Return the folder that keeps what was fetched."""
    return worker.settings.worker_dir / "repositories"
