"""Git repositories of own models: a real git, real repositories on this disk, a real suite that
reads them.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner import job
from runner.environments import Environment, import_path
from runner.environments.steps import Steps
from runner.joblog import JobLog
from runner.repositories import NotFetched, Repositories, export
from runner.worker import Worker
from tests.builders.worker import SiteServer, wait_for

MODEL = "def benchmark_mine(): ...\n"


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", str(folder), *name, *words], capture_output=True, text=True, check=True
    ).stdout.strip()


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
    return {"key": "ours", "url": f"file://{folder}", "commit": head, "revision": 1}


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    (tmp_path / "tmp").mkdir()
    return Steps(
        tmp_path / "steps", tmp_path / "tmp", JobLog(tmp_path / "log.txt"), "a-job", lambda: ""
    )


def test_the_files_of_the_pinned_commit_are_there_and_no_later_ones(
    tmp_path: Path, steps: Steps
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    commit(tmp_path / "origin", model="later", other="later")
    export(pinned, tmp_path / "cache", tmp_path / "models", steps)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["model.py"]
    assert (tmp_path / "models" / "model.py").read_text() == MODEL


def test_a_commit_that_was_fetched_needs_its_server_no_more(tmp_path: Path, steps: Steps) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    export(pinned, tmp_path / "cache", tmp_path / "first", steps)
    (tmp_path / "origin").rename(tmp_path / "gone")
    export(pinned, tmp_path / "cache", tmp_path / "second", steps)
    assert (tmp_path / "second" / "model.py").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"commit": "0" * 40}, "Commit 000000000000 of file://"),
        ({"url": "file:///nowhere"}, "does not appear to be a git repository"),
        ({"url": "ext::sh -c touch% /tmp/harm"}, "not allowed"),
    ],
)
def test_what_cannot_be_fetched_is_told_in_gits_words(
    tmp_path: Path, steps: Steps, change: Any, says: str
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    with pytest.raises(NotFetched, match=says):
        export({**pinned, **change}, tmp_path / "cache", tmp_path / "models", steps)


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, steps: Steps) -> None:
    (tmp_path / "origin").mkdir()
    (tmp_path / "origin" / "link.py").symlink_to("/etc/passwd")
    with pytest.raises(NotFetched, match="absolute path"):
        export(commit(tmp_path / "origin"), tmp_path / "cache", tmp_path / "models", steps)


def test_a_job_gets_the_commit_as_its_source(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    pinned = commit(tmp_path / "origin", model=MODEL)
    added = site.add(
        "job", config="own_models", repository={k: pinned[k] for k in ("url", "commit", "revision")}
    )
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "pass", added.outcome
    assert added.bodies[0]["result"]["files"] == {"model.py": MODEL}


def test_a_job_whose_commit_is_not_there_fails_with_the_reason(
    worker: Worker, site: SiteServer
) -> None:
    added = site.add(
        "job", repository={"url": "file:///nowhere", "commit": "0" * 40, "revision": 1}
    )
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert "Commit 000000000000 of file:///nowhere could not be fetched" in added.outcome["message"]


def test_the_workers_own_files_go_with_every_job(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    worker.settings = replace(worker.settings, models=(str(tmp_path / "model.py"),))
    added = site.add("job", config="own_models")
    job.run(worker, "job", 1)
    assert added.bodies[0]["result"]["files"] == {"model.py": MODEL}


def told(worker: Worker, site: SiteServer, pinned: dict[str, Any]) -> dict[str, Any]:
    """What the worker tells of a repository, by the real suite."""
    real = (sys.executable, "-m", "benchmarks_suite")
    worker.environment = Environment(real, worker.environment.build, {}, import_path())
    Repositories(worker).look([pinned])
    wait_for(lambda: site.own_models)
    return site.own_models[0]


def test_the_site_is_told_what_a_repository_offers(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    found = told(
        worker,
        site,
        commit(tmp_path / "origin", model=MODEL, broken="1 +\ndef benchmark_no(): ..."),
    )
    assert [each["name"] for each in found["benchmarks"]] == [
        "mine.own.inference.float32.static.b1"
    ]
    assert (found["key"], found["revision"], found["problem"]) == (
        "ours",
        1,
        "broken.py: line 1: invalid syntax",
    )


def test_the_site_is_told_that_a_repository_cannot_be_fetched(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    found = told(worker, site, {**commit(tmp_path / "origin", model=MODEL), "commit": "1" * 40})
    assert found["benchmarks"] == []
    assert found["problem"].startswith("Commit 111111111111 of file://")


def test_each_revision_is_told_once(worker: Worker, site: SiteServer) -> None:
    repositories = Repositories(worker)
    pinned = {"key": "ours", "url": "file:///nowhere", "commit": "2" * 40, "revision": 1}
    for _ in range(20):
        repositories.look([pinned])
        wait_for(lambda: site.own_models)
    assert len(site.own_models) == 1
