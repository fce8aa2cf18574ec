"""The shortest part of the drill: a real numeric error in the compiled path becomes the right alert, and is told."""

import subprocess
import sys

import pytest

from tests.builders.local_site import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(3600)]


def test_a_compiler_that_computes_wrongly_is_found_confirmed_blamed_and_told() -> None:
    command = [sys.executable, "-m", "tests.end_to_end.drill", "--only", "numerics", "--rounds", "2", "--no-starts"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    line = next((one for one in done.stdout.splitlines() if one.startswith("Inductor computes relu")), done.stderr)
    found = line.split()
    assert "fail_accuracy (was pass)" in line, done.stdout
    assert {"confirmed", "compiler"} <= set(found), line
    assert "expected" not in found, line
