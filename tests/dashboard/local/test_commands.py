"""Steps of `python -m dashboard.local` before the supervisor starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.local import commands, install, instance_lock, preflight, project


@pytest.mark.parametrize("command", ["up", "demo"])
def test_help_option_starts_no_site(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main([command, "--help"]) == 2
    assert "takes no arguments, and was given --help; usage: python3 -m" in capsys.readouterr().out


def test_up_holds_its_data_folder_while_it_installs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holders = []

    def failing_install(*, with_tests: bool) -> bool:
        holders.append(instance_lock.holder(tmp_path))
        return with_tests

    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    monkeypatch.setattr(preflight, "prepare_machine", lambda needs_port: True)
    monkeypatch.setattr(install, "install", failing_install)
    assert commands.main(["up"]) == 1
    assert holders == [instance_lock.Holder(os.getpid(), "http://127.0.0.1:8000")]
    assert instance_lock.holder(tmp_path) is None


BECOME_ANOTHER = """
import os, sys
from pathlib import Path
from dashboard.local import instance_lock
lock = instance_lock.acquire(Path(sys.argv[1]), "http://127.0.0.1:8123")
if sys.argv[2] == "first":
    instance_lock.keep(lock)
    os.execv(sys.executable, [sys.executable, "-c", sys.argv[3], sys.argv[1], "second", ""])
print(os.getpid(), instance_lock.holder(Path(sys.argv[1])).pid, os.get_inheritable(lock.fileno()))
"""


def test_supervisor_takes_over_the_lock_that_up_has_taken(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BECOME_ANOTHER, str(tmp_path), "first", BECOME_ANOTHER]
    printed = subprocess.check_output(
        command,
        cwd=project.ROOT,
        text=True,
        timeout=60,
    )
    process, holder, is_inheritable = printed.split()
    assert process == holder
    assert is_inheritable == "False"
