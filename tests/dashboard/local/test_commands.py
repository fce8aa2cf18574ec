"""What `python -m dashboard.local` does with arguments that a command does not take."""

import pytest

from dashboard.local import commands


@pytest.mark.parametrize("command", ["up", "demo"])
def test_help_option_starts_no_site(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main([command, "--help"]) == 2
    assert "takes no arguments, and was given --help; usage: python3 -m" in capsys.readouterr().out
