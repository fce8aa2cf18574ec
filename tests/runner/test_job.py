"""One job from claim to delivered outcome: real processes that end in every way a suite can end."""

import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runner import job, process
from runner.__main__ import wait_while_paused
from runner.device import lock_devices
from runner.worker import Worker
from tests.builders.site_server import SiteJob, SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import processes_of_jobs_in

SECRETS = (
    "WORKER_TOKEN",
    "BROKER_URL",
    "DATABASE_URL",
    "SITE_URL",
    "SECRET_KEY",
    "AWS_SECRET_ACCESS_KEY",
)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)


def run(worker: Worker, site: SiteServer, config: str, *, timeout_s: float = 60) -> SiteJob:
    """Run a job whose suite does what `config` says, to its end."""
    added = site.add("job", config=config, timeout_s=timeout_s)
    job.run(worker, "job", 1)
    return added


def start(
    worker: Worker,
    site: SiteServer,
    config: str,
) -> tuple[SiteJob, threading.Thread]:
    """The same in the background; returns when the suite is sampling."""
    added = site.add("job", config=config)
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    wait_for(added.is_sampling)
    return added, thread


def test_result_is_delivered_as_pass_with_its_document(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "eager")
    assert ended.outcome["status"] == "pass"
    assert ended.outcome["exit_code"] == 0
    assert ended.result["schema"] == "result.v1"


def test_suite_runs_in_an_empty_folder(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "eager").result["work_files"] == []


def test_suite_sees_no_token_and_no_address(
    worker: Worker, site: SiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "secret-value")
    environment = run(worker, site, "eager").result["environment"]
    assert "secret-value" not in environment.values()
    assert "the-worker-token" not in environment.values()
    assert environment["COMPILEWATCH_JOB"].endswith("/jobs/job.1")


def test_cpu_worker_hides_every_gpu(worker: Worker, site: SiteServer) -> None:
    environment = run(worker, site, "eager").result["environment"]
    assert environment["CUDA_VISIBLE_DEVICES"] == ""


def test_nothing_is_left_of_a_delivered_job(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    ended = run(worker, site, "orphans")
    assert not Path(ended.result["temporary"]).exists()
    assert list(worker.jobs.iterdir()) == []
    assert worker.outbox.waiting() == []
    assert processes_of_jobs_in(tmp_path) == []


def test_segfault_is_named_with_its_phase(worker: Worker, site: SiteServer) -> None:
    outcome = run(worker, site, "segfault").outcome
    assert outcome["status"] == "crashed"
    assert outcome["signal"] == 11
    assert "SIGSEGV (Segmentation fault) in the phase compile" in outcome["message"]
    assert "worker_suite.py" in outcome["message"]  # faulthandler's stack


def test_kill_that_the_kernel_did_not_count_is_not_oom(worker: Worker, site: SiteServer) -> None:
    outcome = run(worker, site, "killed").outcome
    assert outcome["status"] == "crashed"
    assert outcome["signal"] == 9
    assert "Something other than the worker killed it" in outcome["message"]


def test_exit_code_2_is_fail_to_run_with_the_message_of_the_suite(
    worker: Worker, site: SiteServer
) -> None:
    outcome = run(worker, site, "refuse").outcome
    assert outcome["status"] == "fail_to_run"
    assert outcome["message"] == "unknown benchmark mlp.huge: `list` shows the known ones"


def test_exception_is_a_crash_with_its_last_words(worker: Worker, site: SiteServer) -> None:
    outcome = run(worker, site, "fail").outcome
    assert outcome["status"] == "crashed"
    assert outcome["exit_code"] == 1
    assert outcome["message"].endswith("RuntimeError: the model fell over")


@pytest.mark.parametrize(
    ("config", "reason"),
    [("malformed", "line 1 column 37"), ("not_a_number", "NaN is not a finite number")],
)
def test_result_that_is_not_json_is_named_and_sent_as_an_artifact(
    worker: Worker, site: SiteServer, config: str, reason: str
) -> None:
    ended = run(worker, site, config)
    assert ended.outcome["status"] == "crashed"
    assert reason in ended.outcome["message"]
    assert ended.artifacts["result.json"].startswith(b"{")


def test_flood_of_log_lines_is_cut_to_its_end(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "flood")
    assert ended.outcome["log_tail"].endswith("the last line\n")
    assert len(ended.outcome["log_tail"].encode()) <= 16_000
    assert len(ended.artifacts["log.txt"]) <= 17 * 1024**2


def test_bytes_that_are_not_text_are_replaced(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "binary_noise").outcome["log_tail"] == "\ufffd\ufffd café\n"


def test_artifacts_are_sent(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "artifacts").artifacts == {"code.py": b"generated"}


def test_time_limit_ends_children_that_ignore_sigterm_or_left_the_group(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    outcome = run(worker, site, "deaf_children", timeout_s=1).outcome
    assert outcome["status"] == "timeout"
    assert "time limit of 1 s" in outcome["message"]
    assert processes_of_jobs_in(tmp_path) == []


def test_result_counts_though_its_process_does_not_end(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "hang_after_result", timeout_s=2)
    assert ended.state == "done"
    assert ended.outcome["status"] == "pass"
    assert "did not end" in ended.outcome["message"]


def test_cancelled_job_frees_the_device_in_seconds(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    cancelled, thread = start(worker, site, "deaf_children")
    cancelled.cancel = True
    cancelled_at = time.monotonic()
    thread.join()
    assert time.monotonic() - cancelled_at < 5
    assert cancelled.state == "cancelled"
    assert processes_of_jobs_in(tmp_path) == []


def test_cancelled_job_does_not_wait_for_the_device(
    worker: Worker, site: SiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "ASK_EVERY_S", 0.5)
    waiting = site.add("job", config="eager")
    with lock_devices(worker.settings.lock_dir, worker.device_ids, lambda waited_s: None):
        thread = threading.Thread(target=job.run, args=(worker, "job", 1))
        thread.start()
        waiting.state = "cancelled"
        thread.join(10)
        assert not thread.is_alive()


def test_site_learns_who_holds_the_device(worker: Worker, site: SiteServer) -> None:
    waiting = site.add("job", config="eager")
    with lock_devices(worker.settings.lock_dir, worker.device_ids, lambda waited_s: None):
        thread = threading.Thread(target=job.run, args=(worker, "job", 1))
        thread.start()
        wait_for(lambda: waiting.held_by == "another process")
    thread.join(30)


def test_job_of_a_stale_attempt_is_stopped_and_dropped(worker: Worker, site: SiteServer) -> None:
    lost, thread = start(worker, site, "sleep")
    lost.attempt = 2
    thread.join(10)
    assert lost.bodies == []
    assert worker.outbox.waiting() == []


def test_heartbeats_carry_phase_and_log(worker: Worker, site: SiteServer) -> None:
    beating, thread = start(worker, site, "sleep")
    beating.cancel = True
    thread.join()
    last = beating.beats[-1]
    assert last == {"attempt": 1, "phase": "sampling", "log_tail": "phase: sampling\n"}


def test_job_for_another_kind_of_device_fails_to_run(worker: Worker, site: SiteServer) -> None:
    added = site.add("job", device="cuda")
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert added.outcome["message"].startswith("The job is for cuda, but this worker owns cpu.")


def test_job_for_a_build_that_the_worker_lacks_fails_to_run(
    worker: Worker, site: SiteServer
) -> None:
    added = site.add("job", build="2.11.0+cpu")
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    message = added.outcome["message"]
    assert "for the torch build 2.11.0+cpu, but this worker has only 2.13.0+cpu" in message


def test_interpreter_that_is_gone_fails_to_run_by_name(worker: Worker, site: SiteServer) -> None:
    command = ("/nowhere/python", "-m", "benchmarks_suite")
    worker.environment = replace(worker.environment, command=command)
    outcome = run(worker, site, "eager").outcome
    assert outcome["status"] == "fail_to_run"
    assert "cannot start /nowhere/python: No such file or directory" in outcome["message"]
    assert "Check SUITE_PYTHON" in outcome["message"]


def test_claim_waits_for_a_site_that_is_down(worker: Worker, site: SiteServer) -> None:
    added = site.add("job")
    site.stop()
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    time.sleep(0.3)
    site.start()
    thread.join(10)
    assert added.state == "done"


def test_result_that_does_not_fit_the_disk_is_a_named_failure_and_the_next_job_runs(
    worker: Worker, site: SiteServer
) -> None:
    failure = run(worker, site, "little_room").result
    assert failure["status"] == "fail_to_run"
    assert "free some space there" in failure["message"]
    assert run(worker, site, "eager").outcome["status"] == "pass"


def test_without_room_for_the_reason_the_last_words_of_the_suite_name_it(
    worker: Worker, site: SiteServer
) -> None:
    outcome = run(worker, site, "no_room").outcome
    assert outcome["status"] == "crashed"
    assert outcome["exit_code"] == 1
    assert "in the phase write, and it wrote no result file" in outcome["message"]
    assert "free some space there" in outcome["message"]


def test_outcome_that_does_not_fit_the_disk_is_held_in_memory(
    worker: Worker, site: SiteServer
) -> None:
    shutil.rmtree(worker.outbox.folder)
    # A file where the folder should be: writing fails for any user, root included
    worker.outbox.folder.touch()
    assert run(worker, site, "eager").state == "done"


def test_heartbeat_reports_that_neither_disk_nor_site_takes_the_outcome(
    worker: Worker, site: SiteServer
) -> None:
    shutil.rmtree(worker.outbox.folder)
    worker.outbox.folder.touch()
    site.refuse["result"] = (503, "down")
    added = site.add("job")
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    wait_for(lambda: any(beat["phase"] == "worker cannot write its outbox" for beat in added.beats))
    worker.outbox.folder.unlink()
    site.refuse.clear()
    thread.join(15)
    assert added.state == "done"


def test_worker_that_stops_drops_its_job_without_an_outcome(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    stopped, thread = start(worker, site, "sleep")
    worker.stopping.set()
    thread.join(10)
    assert stopped.bodies == []
    assert processes_of_jobs_in(tmp_path) == []


def test_worker_that_is_paused_at_its_start_waits(worker: Worker, site: SiteServer) -> None:
    site.paused = True
    thread = threading.Thread(target=wait_while_paused, args=(worker,))
    thread.start()
    wait_for(lambda: site.calls.count("POST alive") > 2)
    assert thread.is_alive()
    site.paused = False
    thread.join(5)
    assert not thread.is_alive()
