"""The shortest chaos: a few faults in the middle of a run, and nothing is lost or doubled."""

import subprocess
import sys

import pytest

from tests.builders.local_site import ROOT

BRIEF = ("--away-minutes", "0.2")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_faults_in_the_middle_of_a_run_lose_and_double_nothing() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.end_to_end.chaos",
        "--faults",
        "3",
        "--jobs",
        "40",
        *BRIEF,
    ]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" jobs have ended: ") == 3
