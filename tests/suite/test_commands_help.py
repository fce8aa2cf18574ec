"""Every command of the suite explains itself."""

import pytest

from benchmarks_suite.__main__ import main
from benchmarks_suite.commands import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_command_shows_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"benchmarks_suite {command}" in capsys.readouterr().out
