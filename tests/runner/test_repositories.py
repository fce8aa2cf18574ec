"""Git repositories of own models: a real git, real repositories on this disk, the real suite."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner import job
from runner.commands import CommandRunner
from runner.environments.adopted import SuiteEnvironment, import_path
from runner.job_log import JobLog
from runner.repositories import NotFetched, Repositories, export
from runner.worker import Worker
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for

MODEL = "def benchmark_mine(): ...\n"


def git(folder: Path, *words: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *author, *words]
    return subprocess.check_output(command, text=True).strip()


def commit(folder: Path, **files: str) -> dict[str, Any]:
    """The repository as the site pins it, with these files in a new commit."""
    folder.mkdir(exist_ok=True)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=x")
    head = git(folder, "rev-parse", "HEAD")
    return {
        "key": "ours",
        "url": f"file://{folder}",
        "commit": head,
        "revision": 1,
    }


@pytest.fixture
def commands(tmp_path: Path) -> CommandRunner:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    log = JobLog(tmp_path / "log.txt")
    return CommandRunner(tmp_path, temporary, log, why_stop=str)


def test_export_has_the_files_of_the_pinned_commit_and_no_later_ones(
    tmp_path: Path, commands: CommandRunner
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    commit(tmp_path / "origin", model="later", other="later")
    export(pinned, tmp_path / "cache", tmp_path / "models", commands)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["model.py"]
    assert (tmp_path / "models" / "model.py").read_text() == MODEL


def test_fetched_commit_does_not_need_its_server_again(
    tmp_path: Path, commands: CommandRunner
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    export(pinned, tmp_path / "cache", tmp_path / "first", commands)
    (tmp_path / "origin").rename(tmp_path / "gone")
    export(pinned, tmp_path / "cache", tmp_path / "second", commands)
    assert (tmp_path / "second" / "model.py").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commit": "0" * 40}, "Commit 000000000000 of file://"),
        ({"url": "file:///nowhere"}, "does not appear to be a git repository"),
        ({"url": "ext::sh -c touch% /tmp/harm"}, "not allowed"),
    ],
)
def test_failed_fetch_is_an_error_in_the_words_of_git(
    tmp_path: Path, commands: CommandRunner, change: dict[str, str], message: str
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    with pytest.raises(NotFetched, match=message):
        export({**pinned, **change}, tmp_path / "cache", tmp_path / "models", commands)


def test_small_pack_of_many_zeros_is_refused_before_a_file_is_written(
    tmp_path: Path, commands: CommandRunner
) -> None:
    origin = tmp_path / "origin"
    commit(origin, model=MODEL)
    (origin / "zeros").touch()
    os.truncate(origin / "zeros", 5 * 1024**2)
    entry = f"100644 blob {git(origin, 'hash-object', '-w', 'zeros')}"
    for _ in range(2):  # a folder of eight folders of eight files
        entries = "".join(f"{entry}\t{name}\n" for name in "abcdefgh")
        command = ["git", "-C", str(origin), "mktree"]
        entry = f"040000 tree {subprocess.check_output(command, input=entries, text=True).strip()}"
    bomb = git(origin, "commit-tree", "-m", "x", entry.split()[2])
    git(origin, "branch", "bomb", bomb)
    pinned = commit(origin, model="x") | {"commit": bomb}
    with pytest.raises(NotFetched, match="more than 256 MB"):
        export(pinned, tmp_path / "cache", tmp_path / "models", commands)
    assert not list(tmp_path.rglob("models*"))


def test_link_out_of_the_folder_is_refused(tmp_path: Path, commands: CommandRunner) -> None:
    (tmp_path / "origin").mkdir()
    (tmp_path / "origin" / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(NotFetched, match="absolute path"):
        export(commit(tmp_path / "origin"), tmp_path / "cache", tmp_path / "models", commands)


def test_job_gets_the_commit_as_its_source(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    repository = commit(tmp_path / "origin", model=MODEL)
    del repository["key"]
    added = site.add("job", config="own_models", repository=repository)
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "pass", added.outcome
    assert added.result["files"] == {"model.py": MODEL}


def test_job_whose_commit_does_not_exist_fails_with_the_reason(
    worker: Worker, site: SiteServer
) -> None:
    repository = {"url": "file:///nowhere", "commit": "0" * 40, "revision": 1}
    added = site.add("job", repository=repository)
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert "Commit 000000000000 of file:///nowhere could not be fetched" in added.outcome["message"]


def test_every_job_gets_the_own_files_of_the_worker(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    worker.settings = replace(worker.settings, models=(str(tmp_path / "model.py"),))
    added = site.add("job", config="own_models")
    job.run(worker, "job", 1)
    assert added.result["files"] == {"model.py": MODEL}


def report_on(
    worker: Worker,
    site: SiteServer,
    pinned: dict[str, Any],
    suite: tuple[str, ...] = (sys.executable, "-m", "benchmarks_suite"),
) -> dict[str, Any]:
    """What the worker reports of a repository, by the real suite."""
    build = worker.environment.build
    worker.environment = SuiteEnvironment(suite, build, {}, import_path())
    Repositories(worker).report_new([pinned])
    wait_for(lambda: site.own_models)
    return site.own_models[0]


def test_benchmarks_of_a_repository_are_reported(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL, broken="1 +\ndef benchmark_no(): ...")
    report = report_on(worker, site, pinned)
    assert report["key"] == "ours"
    assert report["revision"] == 1
    [benchmark] = report["benchmarks"]
    assert benchmark["name"] == "mine.own.inference.float32.static.b1"
    assert report["problem"] == "broken.py: line 1: invalid syntax"


def test_repository_that_cannot_be_fetched_is_reported(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    pinned = {**commit(tmp_path / "origin", model=MODEL), "commit": "1" * 40}
    report = report_on(worker, site, pinned)
    assert report["benchmarks"] == []
    assert report["problem"].startswith("Commit 111111111111 of file://")


def test_list_that_is_a_named_pipe_is_not_waited_for(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    leave_pipe = "import os, sys; os.mkfifo(sys.argv[-1]); print('a pipe')"
    pinned = commit(tmp_path / "origin", model=MODEL)
    report = report_on(worker, site, pinned, suite=(sys.executable, "-c", leave_pipe))
    assert report["problem"].endswith("a pipe")


def test_each_revision_is_reported_once(worker: Worker, site: SiteServer) -> None:
    repositories = Repositories(worker)
    pinned = {
        "key": "ours",
        "url": "file:///nowhere",
        "commit": "2" * 40,
        "revision": 1,
    }
    for _ in range(20):
        repositories.report_new([pinned])
        wait_for(lambda: site.own_models)
    assert len(site.own_models) == 1
