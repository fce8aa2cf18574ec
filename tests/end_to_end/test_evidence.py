"""The evidence of a confirmed alert, collected by a real worker from two real builds."""

import subprocess
import sys

import pytest

from tests.builders.local_site import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(1800)]


def test_confirmed_alert_has_the_records_of_both_builds_in_its_archive() -> None:
    command = [sys.executable, "-m", "tests.end_to_end.evidence"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("Both builds left all of it.")
