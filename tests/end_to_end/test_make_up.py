"""`make up` after the installation: the supervisor with the real site, workers and servers."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.local import local_env, processes, project, single
from tests.builders.servers import open_folder

UP_S, STOP_S = 180, 60


class Up:
    """A supervisor for one data folder, on a free port, that leaves the machine's own device lock alone."""

    def __init__(self, var: Path, port: int, **settings: str) -> None:
        self.var, self.url = var, f"http://127.0.0.1:{port}"
        kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "BROKER_URL"}}
        own = {"VAR_DIR": str(var), "PORT": str(port), "WORKER_LOCK_DIR": str(var), "WORKER_DEVICE": "cpu"}
        self.environment = {**kept, **own, "DJANGO_SETTINGS_MODULE": "dashboard.settings", **settings}
        self.log = var.parent / f"{var.name}.log"
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dashboard.local.supervisor"],
                cwd=project.ROOT, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )

    def wait(self) -> None:
        processes.wait_until(lambda: "up in" in self.said() or self.process.poll() is not None, UP_S)
        assert "up in" in self.said(), self.said()

    def said(self) -> str:
        return self.log.read_text()

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(STOP_S)


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with open_folder() as folder:
        started = Up(folder / "var", free_port())
        try:
            started.wait()
            yield started
        finally:
            started.stop()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_the_overview_answers_without_signing_in(up: Up) -> None:
    assert "Compilewatch" in page(up.url)


def test_database_broker_and_migrations_are_fit(up: Up) -> None:
    assert set(json.loads(page(f"{up.url}/readyz")).values()) == {"ok"}


def test_the_admins_password_and_the_first_run_are_told(up: Up) -> None:
    assert "admin account, shown this once: user admin, password " in up.said()
    assert f"{up.url}/runs/1/" in up.said()


def test_the_settings_file_is_closed_to_others_and_complete(up: Up) -> None:
    kept = local_env.read(up.var)
    assert stat.S_IMODE((up.var / "local.env").stat().st_mode) == 0o600
    assert {"DATABASE_URL", "BROKER_URL", "SECRET_KEY", "SITE_URL", "WORKER_TOKEN"} <= set(kept)


def test_manage_py_works_by_hand_beside_it(up: Up) -> None:
    environment = {**os.environ, "VAR_DIR": str(up.var), "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    for name in ("DATABASE_URL", "BROKER_URL", "SECRET_KEY"):
        environment.pop(name, None)
    command = [sys.executable, "manage.py", "migrate", "--check", "--skip-checks"]
    assert subprocess.run(command, cwd=project.ROOT, env=environment, check=False).returncode == 0


def test_the_benchmark_worker_holds_no_secret_of_the_site(up: Up) -> None:
    runner = next(pid for pid in up.children() if "runner" in processes.command_of(pid))
    environment = Path(f"/proc/{runner}/environ").read_text()
    assert "WORKER_TOKEN=" in environment
    assert "DATABASE_URL=" not in environment
    assert "SECRET_KEY=" not in environment


def test_a_second_start_says_where_the_first_one_is(up: Up) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.local.supervisor"],
        cwd=project.ROOT, env=up.environment, capture_output=True, text=True, check=False,
    )
    assert (done.returncode, up.url in done.stdout) == (0, True)


def test_a_program_that_is_killed_comes_back(up: Up) -> None:
    web = next(pid for pid in up.children() if "gunicorn" in processes.command_of(pid))
    os.kill(web, signal.SIGKILL)
    assert processes.wait_until(lambda: "web was killed by SIGKILL; starting it again" in up.said(), 10)
    assert processes.wait_until(lambda: answers(f"{up.url}/healthz"), 60)


def answers(url: str) -> bool:
    try:
        return bool(page(url))
    except OSError:
        return False


def test_kill_9_leaves_nothing_behind_and_the_next_start_has_all_data() -> None:
    with open_folder() as folder:
        up = Up(folder / "var", free_port())
        up.wait()
        key, children = local_env.read(up.var)["SECRET_KEY"], up.children()
        up.process.kill()
        up.process.wait()
        assert processes.wait_until(lambda: not any(map(processes.runs, children)), STOP_S)
        assert single.running_at(up.var) is None

        up.process = up.start()
        up.wait()
        assert local_env.read(up.var)["SECRET_KEY"] == key
        assert "password" not in up.said()
        assert "/runs/1/" in page(f"{up.url}/runs/")

        children = up.children()
        assert up.stop() == 0
        assert [pid for pid in children if processes.runs(pid)] == []


def test_a_database_that_does_not_answer_ends_the_start_before_anything_runs(tmp_path: Path) -> None:
    up = Up(tmp_path / "var", free_port(), DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert up.process.wait(UP_S) == 1
    assert "the Postgres of DATABASE_URL does not answer" in up.said()
    assert not (up.var / "broker").exists()
