"""The drill as a test: its shortest part, a real numeric error in the compiled path, and all of it
(more than an hour).
"""

import subprocess
import sys

import pytest

from tests.builders.local_site import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(4 * 3600)]


@pytest.mark.parametrize("part", [["--only", "numerics"], []], ids=["numerics", "everything"])
def test_what_is_changed_for_real_is_found_proven_blamed_told_once_and_recovers(
    part: list[str],
) -> None:
    command = [sys.executable, "-m", "tests.end_to_end.drill", *part]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("All of it came as it should.")
