"""The supervisor refuses what it cannot start on, before anything runs."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.local import supervisor


@pytest.fixture
def taken_port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A port on which another server listens for good."""
    monkeypatch.setattr(supervisor, "PORT_FREE_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_taken_port_is_refused_with_its_holder_and_how_to_choose_another(
    taken_port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert supervisor.Supervisor(tmp_path, taken_port).run() == 1
    printed = capsys.readouterr().out
    assert f"port {taken_port} is taken by process" in printed
    assert f"another port: PORT={taken_port + 1}" in printed


def test_nothing_is_started_on_a_taken_port(taken_port: int, tmp_path: Path) -> None:
    supervisor.Supervisor(tmp_path, taken_port).run()
    assert list(tmp_path.iterdir()) == []
