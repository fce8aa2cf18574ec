"""Style, types, import rules, migrations and Django's deploy checks, as `make lint` runs them."""

import pytest

from dashboard.local import checks


@pytest.mark.parametrize("name", checks.COMMANDS)
def test_check_passes(name: str) -> None:
    check = checks.run(name)
    assert check.returncode == 0, check.stdout
