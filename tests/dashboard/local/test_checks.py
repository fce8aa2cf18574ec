"""Style, types, import rules, migrations and Django's deploy checks, as `make lint` runs them."""

import pytest

from dashboard.local import checks


@pytest.mark.parametrize("name", checks.COMMANDS)
def test_the_code_passes(name: str) -> None:
    done = checks.run(name)
    assert done.returncode == 0, done.stdout
