"""The shortest chaos: a few faults in the middle of a run, and nothing is lost or doubled."""

import re
import signal
import subprocess
import sys

import psutil
import pytest

from tests.builders.local_site import ROOT, START_S

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


def test_script_that_is_ended_ends_what_it_has_started() -> None:
    chaos = psutil.Popen(
        [sys.executable, "-m", "tests.end_to_end.chaos", "--seed", "1"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    # The first line comes before the site; the rounds begin when it is up
    while not re.match("round 1", chaos.stdout.readline()):
        assert chaos.is_running()
    started = chaos.children(recursive=True)
    chaos.terminate()
    assert chaos.wait(START_S) == 128 + signal.SIGTERM
    assert started
    assert not [each for each in started if each.is_running()]
