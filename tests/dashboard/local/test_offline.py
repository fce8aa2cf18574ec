"""`dashboard.local offline` where it cannot begin; tests/end_to_end/test_offline.py has the whole
of it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the first step reads of a checkout, without an environment."""
    for part in ("dashboard/local", "runner"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "dashboard" / "__init__.py").touch()
    return tmp_path


def test_without_pieces_nothing_is_made_and_the_reason_is_told(checkout: Path) -> None:
    offline = [sys.executable, "-m", "dashboard.local", "offline", "pieces", "list.jsonl", "out"]
    done = subprocess.run(offline, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"no pieces (*.tar.xz) lie in {checkout / 'pieces'}" in done.stderr
    assert not (checkout / ".venv").exists()
