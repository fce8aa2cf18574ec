"""A process of tests that dies ends the run with the name of its test."""

import os
import subprocess
import sys
from pathlib import Path

from dashboard.local.commands import IN_PARALLEL

DYING = """
import os, signal

def test_that_kills_its_process():
    os.kill(os.getpid(), signal.SIGSEGV)
"""


def test_lost_process_ends_the_run_with_the_name_of_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_dying.py").write_text(DYING)
    (tmp_path / "test_other.py").write_text("def test_passes():\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist.plugin", *IN_PARALLEL, "-n", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "crashed while running 'test_dying.py::test_that_kills_its_process'" in done.stdout
