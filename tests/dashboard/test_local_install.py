"""The virtual environment is repaired after an interruption and left alone when it is complete."""

import time
from pathlib import Path

import pytest

from dashboard.local import install, project


def test_what_is_installed_is_not_installed_again_and_the_look_is_quick() -> None:
    began = time.monotonic()
    assert install.missing_parts(with_tests=True) == []
    assert time.monotonic() - began < 1


def test_a_changed_lock_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "requirements.txt"
    changed.write_text("django==0\n")
    monkeypatch.setattr(project, "REQUIREMENTS", changed)
    assert install.missing_parts(with_tests=False) == ["requirements"]


def test_another_index_for_torch_is_a_wish_for_another_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_INDEX_URL", "https://example.org/whl/cu999")
    assert install.missing_parts(with_tests=False) == ["torch"]


def test_without_an_index_the_build_of_torch_that_is_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamps = tmp_path / "installed.json"
    stamps.write_text(f'{{"torch": "{project.torch_version()} https://example.org/whl/cpu"}}')
    monkeypatch.setattr(install, "STAMPS", stamps)
    monkeypatch.delenv("TORCH_INDEX_URL", raising=False)
    assert "torch" not in install.missing_parts(with_tests=False)


def test_a_package_that_pip_did_not_finish_is_forgotten_so_that_pip_installs_it_again(tmp_path: Path) -> None:
    half, whole, renamed = tmp_path / "a-1.dist-info", tmp_path / "b-1.dist-info", tmp_path / "~c"
    for folder in (half, whole, renamed):
        folder.mkdir()
    (whole / "INSTALLER").write_text("pip\n")
    assert install.remove_halves(tmp_path) == ["a-1.dist-info", "~c"]
    assert [path.name for path in tmp_path.iterdir()] == ["b-1.dist-info"]
