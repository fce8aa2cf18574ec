"""Outcomes wait on disk until the site has taken them."""

import gzip
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.locks import exclusive_lock
from runner.outbox import Outbox, sendable_artifacts
from runner.outcome import JobOutcome, result_body
from runner.shared_memory import SharedFlag
from runner.site import Site
from tests.builders.full_disk import full_disk
from tests.builders.site_server import SiteServer

DOCUMENT = {"schema": "result.v1", "status": "pass"}


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    return Outbox(tmp_path)


def put(
    outbox: Outbox, site: SiteServer, job_id: str = "job", artifacts: tuple[Path, ...] = ()
) -> None:
    """Put a running job's outcome."""
    site.add(job_id).state = "running"
    body = result_body(1, JobOutcome("pass"), DOCUMENT)
    outbox.put(job_id, 1, body, artifacts)


def test_entry_is_delivered_by_another_process(
    outbox: Outbox, site: SiteServer, client: Site
) -> None:
    put(outbox, site)
    assert Outbox(outbox.folder.parent).deliver(client) == ""
    assert site.jobs["job"].bodies[0]["result"] == DOCUMENT
    assert outbox.waiting() == []


def test_entry_that_fails_now_stays_and_does_not_hold_up_others(
    outbox: Outbox, site: SiteServer, client: Site
) -> None:
    site.refuse["jobs/first/result"] = (500, "a bug")
    put(outbox, site, "first")
    put(outbox, site, "second")
    assert "a bug" in outbox.deliver(client)
    assert [entry.name for entry in outbox.waiting()] == ["first.1"]
    assert site.jobs["second"].state == "done"


def test_patience_is_for_all_entries_together_and_each_is_tried(
    outbox: Outbox, site: SiteServer, client: Site, tmp_path: Path
) -> None:
    site.refuse["artifacts"] = (503, "the store is down")
    for number in range(5):
        artifact = tmp_path / f"code-{number}.py"
        artifact.touch()
        put(outbox, site, f"job-{number}", artifacts=(artifact,))
    started = time.monotonic()
    assert "the store is down" in outbox.deliver(client, 2)
    assert time.monotonic() - started < 5
    assert {job.state for job in site.jobs.values()} == {"done"}


def test_patience_ends_while_another_process_delivers(outbox: Outbox, client: Site) -> None:
    with ThreadPoolExecutor() as pool, exclusive_lock(outbox.folder / ".lock"):
        delivery = pool.submit(outbox.deliver, client, 0.2)
        assert "has been locked by another process" in delivery.result(10)


def test_result_of_another_attempt_is_dropped(
    outbox: Outbox, site: SiteServer, client: Site
) -> None:
    put(outbox, site)
    site.jobs["job"].attempt = 2
    assert outbox.deliver(client) == ""
    assert outbox.waiting() == []
    assert list(outbox.refused.iterdir()) == []


@pytest.mark.parametrize("status", [413, 422])
def test_refused_result_is_kept_with_the_reason(
    outbox: Outbox, site: SiteServer, client: Site, status: int
) -> None:
    put(outbox, site)
    site.refuse["result"] = (status, "metrics.latency_ms: value is missing")
    outbox.deliver(client)
    kept = outbox.refused / "job.1"
    body = json.loads(gzip.decompress((kept / "body.json.gz").read_bytes()))
    assert "value is missing" in (kept / "reason.txt").read_text()
    assert body["result"] == DOCUMENT


def test_site_learns_how_the_job_of_a_refused_result_ended(
    outbox: Outbox, site: SiteServer, client: Site
) -> None:
    put(outbox, site)
    site.refuse_results = "status is not a status word"
    outbox.deliver(client)
    job = site.jobs["job"]
    assert job.state == "failed"
    assert job.outcome["status"] == "crashed"
    assert "status is not a status word" in job.outcome["message"]
    assert outbox.waiting() == []


def test_wrong_token_keeps_everything(outbox: Outbox, site: SiteServer) -> None:
    put(outbox, site)
    assert "Set WORKER_TOKEN" in outbox.deliver(Site(site.url, "wrong", SharedFlag()))
    assert len(outbox.waiting()) == 1


def test_refused_artifact_is_kept_and_the_result_stands(
    outbox: Outbox, site: SiteServer, client: Site, tmp_path: Path
) -> None:
    (tmp_path / "code.py").write_text("generated")
    put(outbox, site, artifacts=(tmp_path / "code.py",))
    site.refuse["artifacts"] = (413, "too large")
    outbox.deliver(client)
    assert site.jobs["job"].state == "done"
    assert (outbox.refused / "job.1" / "code.py").read_text() == "generated"
    assert outbox.waiting() == []


def test_half_written_entry_is_not_sent(
    outbox: Outbox,
    site: SiteServer,
    client: Site,
) -> None:
    (outbox.folder / ".new-job.1").mkdir()
    assert outbox.deliver(client) == ""
    assert site.calls == []


def test_full_disk_is_an_error_and_leaves_no_partial_entry(
    outbox: Outbox, site: SiteServer, client: Site
) -> None:
    put(outbox, site, "before")
    with full_disk(room_bytes=4096), pytest.raises(OSError, match="too large"):
        outbox.put("job", 1, os.urandom(100_000))  # which does not compress
    assert [path.name for path in outbox.folder.iterdir()] == ["before.1"]
    put(outbox, site)
    assert outbox.deliver(client) == ""
    assert site.jobs["before"].state == "done"
    assert site.jobs["job"].state == "done"


def test_artifacts_survive_an_attempt_that_the_disk_refused(
    outbox: Outbox, site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError("no space left")

    log = tmp_path / "log.txt"
    log.write_text("words")
    monkeypatch.setattr("runner.outbox._sync", refuse)
    with pytest.raises(OSError, match="no space left"):
        put(outbox, site, artifacts=(log,))
    monkeypatch.undo()
    outbox.put("job", 1, b"{}", [log])
    [entry] = outbox.waiting()
    assert (entry / "artifacts" / "log.txt").read_text() == "words"


def test_artifact_is_on_the_disk_before_its_entry_counts(
    outbox: Outbox, site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("runner.outbox._sync", synced.append)
    (tmp_path / "code.py").write_text("generated")
    put(outbox, site, artifacts=(tmp_path / "code.py",))
    assert [path.name for path in synced] == [
        "body.json.gz",
        "code.py",
        "artifacts",
        ".new-job.1",
        "outbox",
    ]


def test_links_and_folders_are_not_artifacts(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "file").touch()
    assert sendable_artifacts(tmp_path.iterdir()) == [tmp_path / "file"]
