"""`dashboard.local offline` where it cannot begin; end_to_end/test_offline.py runs all of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The part of a checkout that the first step reads, without an environment."""
    for part in ("dashboard/local", "runner"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "dashboard" / "__init__.py").touch()
    return tmp_path


def test_without_pieces_nothing_is_made_and_the_reason_is_printed(checkout: Path) -> None:
    offline = [sys.executable, "-m", "dashboard.local", "offline", "pieces", "list.jsonl", "out"]
    process = subprocess.run(
        offline,
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert f"no pieces (*.tar.xz) lie in {checkout / 'pieces'}" in process.stderr
    assert not (checkout / ".venv").exists()
