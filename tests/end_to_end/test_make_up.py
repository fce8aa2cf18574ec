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

from dashboard.local import local_env, processes, project, single
from tests.builders.local_site import OURS, LocalSite, free_port, local_site
from tests.builders.servers import open_folder

GONE_S = 60


@pytest.fixture(scope="module")
def up() -> Iterator[LocalSite]:
    with open_folder() as folder, local_site(folder / "var") as site:
        yield site


def children(site: LocalSite) -> list[int]:
    listed = Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def child(site: LocalSite, word: str) -> int:
    """The program of the supervisor whose command has `word` in it."""
    return next(pid for pid in children(site) if word in processes.command_of(pid))


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return str(answer.read().decode())


def test_the_overview_answers_without_signing_in(up: LocalSite) -> None:
    assert "Compilewatch" in page(up.url)


def test_database_broker_and_migrations_are_fit(up: LocalSite) -> None:
    assert set(json.loads(page(f"{up.url}/readyz")).values()) == {"ok"}


def test_the_admins_password_and_the_first_run_are_told(up: LocalSite) -> None:
    up.wait_for(r"admin account, shown this once: user admin, password \S{12,}$", 1)
    up.wait_for(rf"planned the first run, watch it on {up.url}/runs/\d+/", 1)


def test_the_settings_file_is_closed_to_others_and_complete(up: LocalSite) -> None:
    kept = local_env.read(up.var)
    assert stat.S_IMODE((up.var / "local.env").stat().st_mode) == 0o600
    assert {"DATABASE_URL", "BROKER_URL", "SECRET_KEY", "SITE_URL", "WORKER_TOKEN"} <= set(kept)


def test_manage_py_works_by_hand_beside_it(up: LocalSite) -> None:
    command = [sys.executable, "manage.py", "migrate", "--check", "--skip-checks"]
    assert subprocess.run(command, cwd=project.ROOT, env=by_hand(up), check=False).returncode == 0


def by_hand(site: LocalSite) -> dict[str, str]:
    """A person's environment: no setting but where the data are."""
    return {name: value for name, value in os.environ.items() if name not in OURS} | {
        "VAR_DIR": str(site.var)
    }


def test_the_benchmark_worker_holds_no_secret_of_the_site(up: LocalSite) -> None:
    environment = Path(f"/proc/{child(up, 'runner')}/environ").read_text()
    assert "WORKER_TOKEN=" in environment
    assert "DATABASE_URL=" not in environment
    assert "SECRET_KEY=" not in environment


def test_everything_that_listens_is_for_this_machine_alone(up: LocalSite) -> None:
    family = [psutil.Process(up.pid), *psutil.Process(up.pid).children(recursive=True)]
    assert {address for each in family for address in listening_at(each)} == {"127.0.0.1"}


def listening_at(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):  # the processes of a job come and go meanwhile
        return [found.laddr.ip for found in process.net_connections() if found.status == "LISTEN"]
    return []


def test_a_second_start_says_where_the_first_one_is(up: LocalSite) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.local.supervisor"],
        cwd=project.ROOT,
        env=by_hand(up),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, up.url in done.stdout) == (0, True)


def test_a_program_that_is_killed_comes_back(up: LocalSite) -> None:
    os.kill(child(up, "gunicorn"), signal.SIGKILL)
    up.wait_for("web was killed by SIGKILL; starting it again in 1 s", 10)
    assert processes.wait_until(lambda: answers(f"{up.url}/healthz"), 60)


def answers(url: str) -> bool:
    try:
        return bool(page(url))
    except OSError:
        return False


def test_kill_9_leaves_nothing_behind_the_next_start_has_all_data_and_ctrl_c_ends_it_cleanly() -> (
    None
):
    with open_folder() as folder:
        with local_site(folder / "var") as killed:
            key, left = local_env.read(killed.var)["SECRET_KEY"], children(killed)
            killed.kill()
        assert processes.wait_until(lambda: not any(map(processes.runs, left)), GONE_S)
        assert single.running_at(killed.var) is None
        with local_site(folder / "var") as again:
            assert local_env.read(again.var)["SECRET_KEY"] == key
            assert "password" not in "".join(again.lines)
            assert "/runs/1/" in page(f"{again.url}/runs/")
            left = children(again)
            assert again.stop() == 0
    assert [pid for pid in left if processes.runs(pid)] == []


def test_a_database_that_does_not_answer_ends_the_start_before_anything_runs(
    tmp_path: Path,
) -> None:
    site = LocalSite(
        tmp_path / "var", free_port(), {"DATABASE_URL": "postgresql://127.0.0.1:1/none"}
    )
    site.wait_for("the Postgres of DATABASE_URL does not answer", 60)
    assert processes.wait_until(lambda: not processes.runs(site.pid), GONE_S)
    assert site.stop() == 1
    assert not (site.var / "broker").exists()
