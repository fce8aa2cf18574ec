"""`make up` after the installation: the supervisor with the real site, workers and servers."""

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from dashboard.local import instance_lock, local_env, processes, project
from tests.builders.local_site import OURS, LocalSite, free_port, local_site
from tests.builders.servers import open_folder

GONE_S = 60


@pytest.fixture(scope="module")
def up() -> Iterator[LocalSite]:
    with open_folder() as folder, local_site(folder / "var") as site:
        yield site


def children(site: LocalSite) -> list[int]:
    pids = Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text().split()
    return list(map(int, pids))


def child(site: LocalSite, word: str) -> int:
    """The pid of the supervisor's child whose command has `word` in it."""
    return next(pid for pid in children(site) if word in processes.command_of(pid))


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_home_answers_without_signing_in(up: LocalSite) -> None:
    assert "Compilewatch" in page(up.url)


def test_database_broker_and_migrations_are_ready(up: LocalSite) -> None:
    assert set(json.loads(page(f"{up.url}/readyz")).values()) == {"ok"}


def test_admin_password_and_first_run_are_printed(up: LocalSite) -> None:
    up.wait_for(r"admin account, shown this once: user admin, password \S{12,}$", 1)
    up.wait_for(rf"planned the first run, watch it on {up.url}/runs/\d+/", 1)


def test_settings_file_is_private_and_complete(up: LocalSite) -> None:
    settings = local_env.read(up.var)
    assert stat.S_IMODE((up.var / "local.env").stat().st_mode) == 0o600
    assert {"DATABASE_URL", "BROKER_URL", "SECRET_KEY", "SITE_URL", "WORKER_TOKEN"} <= set(settings)


def test_manage_py_works_by_hand_next_to_it(up: LocalSite) -> None:
    command = [sys.executable, "manage.py", "migrate", "--check", "--skip-checks"]
    process = subprocess.run(
        command,
        cwd=project.ROOT,
        env=shell_environment(up),
        check=False,
    )
    assert process.returncode == 0


def shell_environment(site: LocalSite) -> dict[str, str]:
    """A person's environment: no setting except the data folder."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    return {**inherited, "VAR_DIR": str(site.var)}


def test_benchmark_worker_holds_no_secret_of_the_site(up: LocalSite) -> None:
    environment = Path(f"/proc/{child(up, 'runner')}/environ").read_text()
    assert "WORKER_TOKEN=" in environment
    assert "DATABASE_URL=" not in environment
    assert "SECRET_KEY=" not in environment


def test_every_process_listens_on_this_machine_alone(up: LocalSite) -> None:
    supervisor = psutil.Process(up.pid)
    addresses = listening_addresses(supervisor)
    for process in supervisor.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # the processes of a job come and go meanwhile
            addresses |= listening_addresses(process)
    assert addresses == {"127.0.0.1"}


def listening_addresses(process: psutil.Process) -> set[str]:
    sockets = process.net_connections()
    return {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}


def test_second_start_reports_where_the_first_runs(up: LocalSite) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "dashboard.local.supervisor"],
        cwd=project.ROOT,
        env=shell_environment(up),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert up.url in process.stdout


def test_killed_program_is_restarted(up: LocalSite) -> None:
    os.kill(child(up, "gunicorn"), signal.SIGKILL)
    up.wait_for("web was killed by SIGKILL; starting it again in 1 s", 10)
    assert processes.wait_until(lambda: answers(f"{up.url}/healthz"), 60)


def answers(url: str) -> bool:
    try:
        return bool(page(url))
    except OSError:
        return False


def test_after_kill_9_nothing_is_left_the_next_start_has_all_data_and_ctrl_c_is_clean() -> None:
    with open_folder() as folder:
        with local_site(folder / "var", migrated=True) as killed:
            key, pids = local_env.read(killed.var)["SECRET_KEY"], children(killed)
            killed.kill()
        assert processes.wait_until(lambda: not any(map(processes.is_running, pids)), GONE_S)
        assert instance_lock.holder(killed.var) is None
        with local_site(folder / "var") as restarted:
            assert local_env.read(restarted.var)["SECRET_KEY"] == key
            assert "password" not in "".join(restarted.lines)
            assert "/runs/1/" in page(f"{restarted.url}/runs/")
            pids = children(restarted)
            assert restarted.stop() == 0
    assert not any(map(processes.is_running, pids))


def test_database_that_does_not_answer_ends_the_start_before_anything_runs(tmp_path: Path) -> None:
    unreachable = {"DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    site = LocalSite(tmp_path / "var", free_port(), unreachable)
    site.wait_for("the Postgres of DATABASE_URL does not answer", 60)
    assert processes.wait_until(lambda: not processes.is_running(site.pid), GONE_S)
    assert site.stop() == 1
    assert not (site.var / "broker").exists()
