"""A real site over real HTTP, a real token, and the command as a person runs it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pytest_django.live_server_helper import LiveServer

from compilewatch_client import Client
from compilewatch_client.__main__ import main


class CommandResult(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


RunCommand = Callable[..., CommandResult]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the developer's own settings."""
    for name in ("COMPILEWATCH_URL", "COMPILEWATCH_TOKEN", "COMPILEWATCH_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def online(live_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables name a site, and a token that may do everything."""
    from tests.builders.api import token

    monkeypatch.setenv("COMPILEWATCH_URL", live_server.url)
    monkeypatch.setenv("COMPILEWATCH_TOKEN", token())


@pytest.fixture
def client(online: None) -> Iterator[Client]:
    with Client() as client:
        yield client


@pytest.fixture
def compilewatch(capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs the command with these arguments."""

    def run(*arguments: str) -> CommandResult:
        code = main(arguments)
        out, err = capsys.readouterr()
        return CommandResult(code, out, err)

    return run
