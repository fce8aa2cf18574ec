"""One job from claim to delivered outcome: real processes that end in every way a suite can end."""

import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runner import job, process
from runner.__main__ import wait_until_wanted
from runner.worker import Worker
from tests.builders.worker import SiteJob, SiteServer, wait_for
from tests.builders.worker_process import processes_of_jobs_in


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.3)


def run(worker: Worker, site: SiteServer, config: str, *, timeout_s: float = 60) -> SiteJob:
    """Run a job whose suite does what `config` says, to its end."""
    added = site.add("job", config=config, timeout_s=timeout_s)
    job.run(worker, "job", 1)
    return added


def start(worker: Worker, site: SiteServer, config: str) -> tuple[SiteJob, threading.Thread]:
    """The same in the background; returns when its suite is sampling."""
    added = site.add("job", config=config)
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    wait_for(lambda: any(beat["phase"] == "sampling" for beat in added.beats))
    return added, thread


def test_a_result_is_delivered_as_pass_with_its_document(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "eager")
    assert ended.outcome["status"] == "pass"
    assert ended.outcome["exit_code"] == 0
    assert ended.bodies[0]["result"]["schema"] == "result.v1"


def test_the_suite_runs_in_an_empty_folder(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "eager").bodies[0]["result"]["found"] == []


def test_the_suite_sees_no_token_and_no_address(
    worker: Worker, site: SiteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "WORKER_TOKEN",
        "BROKER_URL",
        "DATABASE_URL",
        "SITE_URL",
        "SECRET_KEY",
        "AWS_SECRET_ACCESS_KEY",
    ):
        monkeypatch.setenv(name, "secret-value")
    environment = run(worker, site, "eager").bodies[0]["result"]["environment"]
    assert "secret-value" not in environment.values()
    assert "the-worker-token" not in environment.values()
    assert environment["COMPILEWATCH_JOB"].endswith("/jobs/job.1")


def test_a_cpu_worker_hides_every_gpu(worker: Worker, site: SiteServer) -> None:
    assert (
        run(worker, site, "eager").bodies[0]["result"]["environment"]["CUDA_VISIBLE_DEVICES"] == ""
    )


def test_nothing_is_left_of_a_delivered_job(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    ended = run(worker, site, "orphans")
    assert not Path(ended.bodies[0]["result"]["temporary"]).exists()
    assert list(worker.jobs.iterdir()) == []
    assert worker.outbox.waiting() == []
    assert processes_of_jobs_in(tmp_path) == []


def test_a_segfault_is_named_with_the_phase_it_happened_in(
    worker: Worker, site: SiteServer
) -> None:
    outcome = run(worker, site, "segfault").outcome
    assert (outcome["status"], outcome["signal"]) == ("crashed", 11)
    assert "SIGSEGV (Segmentation fault) in the phase compile" in outcome["message"]
    assert "worker_suite.py" in outcome["message"]  # faulthandler's stack


def test_a_kill_that_the_kernel_did_not_count_is_no_oom(worker: Worker, site: SiteServer) -> None:
    outcome = run(worker, site, "killed").outcome
    assert (outcome["status"], outcome["signal"]) == ("crashed", 9)
    assert "Something other than the worker killed it" in outcome["message"]


def test_exit_code_2_is_fail_to_run_with_the_suites_own_message(
    worker: Worker, site: SiteServer
) -> None:
    outcome = run(worker, site, "refuse").outcome
    assert outcome["status"] == "fail_to_run"
    assert outcome["message"] == "unknown benchmark mlp.huge: `list` shows the known ones"


def test_an_exception_is_a_crash_with_its_last_words(worker: Worker, site: SiteServer) -> None:
    outcome = run(worker, site, "fail").outcome
    assert (outcome["status"], outcome["exit_code"]) == ("crashed", 1)
    assert outcome["message"].endswith("RuntimeError: the model fell over")


@pytest.mark.parametrize(
    ("config", "reason"),
    [("malformed", "line 1 column 37"), ("not_a_number", "NaN is no finite number")],
)
def test_a_result_that_is_no_json_is_told_and_sent_along(
    worker: Worker, site: SiteServer, config: str, reason: str
) -> None:
    ended = run(worker, site, config)
    assert ended.outcome["status"] == "crashed"
    assert reason in ended.outcome["message"]
    assert ended.artifacts["result.json"].startswith(b"{")


def test_a_flood_of_log_lines_is_cut_to_its_end(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "flood")
    assert ended.outcome["log_tail"].endswith("the last line\n")
    assert len(ended.outcome["log_tail"].encode()) <= 16_000
    assert len(ended.artifacts["log.txt"]) <= 17 * 1024**2


def test_bytes_that_are_no_text_do_not_hurt(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "binary_noise").outcome["log_tail"] == "\ufffd\ufffd café\n"


def test_artifacts_go_along(worker: Worker, site: SiteServer) -> None:
    assert run(worker, site, "artifacts").artifacts == {"code.py": b"generated"}


def test_the_time_limit_ends_children_that_ignore_sigterm_or_left_the_group(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    outcome = run(worker, site, "deaf_children", timeout_s=1).outcome
    assert outcome["status"] == "timeout"
    assert "time limit of 1 s" in outcome["message"]
    assert processes_of_jobs_in(tmp_path) == []


def test_a_result_counts_though_its_process_would_not_end(worker: Worker, site: SiteServer) -> None:
    ended = run(worker, site, "hang_after_result", timeout_s=0.5)
    assert (ended.state, ended.outcome["status"]) == ("done", "pass")
    assert "did not end" in ended.outcome["message"]


def test_a_cancelled_job_frees_the_device_in_seconds(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    cancelled, thread = start(worker, site, "deaf_children")
    cancelled.cancel = True
    asked = time.monotonic()
    thread.join()
    assert time.monotonic() - asked < 5
    assert cancelled.state == "cancelled"
    assert processes_of_jobs_in(tmp_path) == []


def test_a_job_that_another_attempt_has_taken_over_is_stopped_and_dropped(
    worker: Worker, site: SiteServer
) -> None:
    lost, thread = start(worker, site, "sleep")
    lost.attempt = 2
    thread.join(10)
    assert lost.bodies == []
    assert worker.outbox.waiting() == []


def test_heartbeats_carry_phase_and_log(worker: Worker, site: SiteServer) -> None:
    beating, thread = start(worker, site, "sleep")
    beating.cancel = True
    thread.join()
    assert beating.beats[-1] == {"attempt": 1, "phase": "sampling", "log_tail": "phase: sampling\n"}


def test_a_job_for_another_kind_of_device_fails_to_run(worker: Worker, site: SiteServer) -> None:
    added = site.add("job", device="cuda")
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert added.outcome["message"].startswith("The job is for cuda, but this worker owns cpu.")


def test_a_job_for_a_build_that_is_not_here_fails_to_run(worker: Worker, site: SiteServer) -> None:
    added = site.add("job", build="2.11.0+cpu")
    job.run(worker, "job", 1)
    assert added.outcome["status"] == "fail_to_run"
    assert (
        "for the torch build 2.11.0+cpu, but this worker has only 2.13.0+cpu"
        in added.outcome["message"]
    )


def test_an_interpreter_that_is_gone_fails_to_run_by_name(worker: Worker, site: SiteServer) -> None:
    worker.environment = replace(
        worker.environment, command=("/nowhere/python", "-m", "benchmarks_suite")
    )
    outcome = run(worker, site, "eager").outcome
    assert outcome["status"] == "fail_to_run"
    assert "cannot start /nowhere/python: No such file or directory" in outcome["message"]
    assert "Check SUITE_PYTHON" in outcome["message"]


def test_a_claim_waits_for_a_site_that_is_down(worker: Worker, site: SiteServer) -> None:
    added = site.add("job")
    site.stop()
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    time.sleep(0.3)
    site.start()
    thread.join(10)
    assert added.state == "done"


def test_a_result_that_the_disk_does_not_take_is_a_named_failure_and_the_next_job_runs(
    worker: Worker, site: SiteServer
) -> None:
    kept = run(worker, site, "little_room").bodies[0]["result"]
    assert (kept["status"], "free some space there" in kept["message"]) == ("fail_to_run", True)
    assert run(worker, site, "eager").outcome["status"] == "pass"


def test_with_no_room_even_for_the_reason_the_suites_last_words_tell_it(
    worker: Worker, site: SiteServer
) -> None:
    outcome = run(worker, site, "no_room").outcome
    assert (outcome["status"], outcome["exit_code"]) == ("crashed", 1)
    assert "in the phase write, and it wrote no result file" in outcome["message"]
    assert "free some space there" in outcome["message"]


def test_an_outcome_that_the_disk_does_not_take_is_held_in_memory(
    worker: Worker, site: SiteServer
) -> None:
    shutil.rmtree(worker.outbox.folder)
    # a file where the folder should be: writing fails for any user, root too
    worker.outbox.folder.touch()
    assert run(worker, site, "eager").state == "done"


def test_while_neither_disk_nor_site_takes_the_outcome_the_heartbeat_says_so(
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


def test_a_worker_that_stops_drops_its_job_untold(
    worker: Worker, site: SiteServer, tmp_path: Path
) -> None:
    stopped, thread = start(worker, site, "sleep")
    worker.stopping.set()
    thread.join(10)
    assert stopped.bodies == []
    assert processes_of_jobs_in(tmp_path) == []


def test_a_worker_that_is_paused_at_its_start_waits(worker: Worker, site: SiteServer) -> None:
    site.paused = True
    thread = threading.Thread(target=wait_until_wanted, args=(worker,))
    thread.start()
    wait_for(lambda: site.calls.count("POST alive") > 2)
    assert thread.is_alive()
    site.paused = False
    thread.join(5)
    assert not thread.is_alive()
