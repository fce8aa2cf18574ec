"""The virtual environment is repaired after an interruption and left alone when it is complete."""

import hashlib
import json
import sys
import time
from pathlib import Path

import pytest

from dashboard.local import install, project


@pytest.fixture(autouse=True)
def stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stamps of a complete environment, whose Python is the one that runs the tests."""
    file = tmp_path / "installed.json"
    parts = {"requirements": project.REQUIREMENTS, "tests": project.TEST_REQUIREMENTS}
    hashes = {part: hashlib.sha256(path.read_bytes()).hexdigest() for part, path in parts.items()}
    file.write_text(
        json.dumps({**hashes, "torch": f"{project.torch_version()} https://example.org/whl/cpu"})
    )
    monkeypatch.setattr(install, "STAMPS", file)
    monkeypatch.setattr(project, "VENV_PYTHON", Path(sys.executable))
    monkeypatch.delenv("TORCH_INDEX_URL", raising=False)
    return file


def test_what_is_installed_is_not_installed_again_and_the_look_is_quick() -> None:
    began = time.monotonic()
    assert install.install(with_tests=True)
    assert time.monotonic() - began < 2


def test_a_changed_lock_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "requirements.txt"
    changed.write_text("django==0\n")
    monkeypatch.setattr(project, "REQUIREMENTS", changed)
    assert install.missing_parts(with_tests=False) == ["requirements"]


def test_another_index_for_torch_is_a_wish_for_another_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCH_INDEX_URL", "https://example.org/whl/cu999")
    assert install.missing_parts(with_tests=False) == ["torch"]


def test_another_release_of_torch_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "torch_version", lambda: "99.0.0")
    assert install.missing_parts(with_tests=False) == ["torch"]


def test_the_tests_packages_are_wanted_for_the_tests_alone(stamps: Path) -> None:
    stamps.write_text(json.dumps({**json.loads(stamps.read_text()), "tests": "of an older lock"}))
    assert install.missing_parts(with_tests=False) == []
    assert install.missing_parts(with_tests=True) == ["tests"]


def test_an_environment_whose_python_is_gone_is_missing_altogether(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "VENV_PYTHON", tmp_path / "gone")
    assert install.missing_parts(with_tests=False) == ["requirements", "torch"]


def test_a_package_that_pip_did_not_finish_is_forgotten_so_that_pip_installs_it_again(
    tmp_path: Path,
) -> None:
    packages = tmp_path / "site-packages"
    half, whole, renamed = packages / "a-1.dist-info", packages / "b-1.dist-info", packages / "~c"
    for folder in (half, whole, renamed):
        folder.mkdir(parents=True)
    (whole / "INSTALLER").write_text("pip\n")
    assert install.remove_halves(packages) == ["a-1.dist-info", "~c"]
    assert [path.name for path in packages.iterdir()] == ["b-1.dist-info"]
