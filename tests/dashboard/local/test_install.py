"""The virtual environment is repaired after an interruption and left alone when complete."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from dashboard.local import install, project


@pytest.fixture(autouse=True)
def stamps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stamps of a complete environment, whose Python is the one that runs the tests."""
    file = tmp_path / "installed.json"
    complete = {
        "requirements": hashlib.sha256(project.REQUIREMENTS.read_bytes()).hexdigest(),
        "tests": hashlib.sha256(project.TEST_REQUIREMENTS.read_bytes()).hexdigest(),
        "field": hashlib.sha256(project.FIELD_REQUIREMENTS.read_bytes()).hexdigest(),
        "torch": f"{project.torch_version()} https://example.org/whl/cpu",
    }
    file.write_text(json.dumps(complete))
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.setattr(install, "STAMPS", file)
    monkeypatch.setattr(project, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(project, "VENV_PYTHON", Path(sys.executable))
    monkeypatch.delenv("TORCH_INDEX_URL", raising=False)
    return file


def test_complete_environment_is_left_alone_and_the_check_is_quick() -> None:
    began = time.monotonic()
    assert install.install(with_tests=True)
    assert time.monotonic() - began < 2


def test_changed_lock_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "requirements.txt"
    changed.write_text("django==0\n")
    monkeypatch.setattr(project, "REQUIREMENTS", changed)
    assert install.missing_parts(with_tests=False) == ["requirements"]


def test_another_torch_index_installs_torch_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_INDEX_URL", "https://example.org/whl/cu999")
    assert install.missing_parts(with_tests=False) == ["torch"]


def test_another_torch_release_installs_torch_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "torch_version", lambda: "99.0.0")
    assert install.missing_parts(with_tests=False) == ["torch"]


def test_packages_of_the_tests_are_installed_for_the_tests_alone(stamps: Path) -> None:
    stamps.write_text(
        json.dumps({**json.loads(stamps.read_text()), "tests": "hash of an older lock"})
    )
    assert install.missing_parts(with_tests=False) == []
    assert install.missing_parts(with_tests=True) == ["tests"]


def test_environment_whose_python_is_gone_is_installed_from_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "VENV_PYTHON", tmp_path / "gone")
    assert install.missing_parts(with_tests=False) == ["requirements", "torch"]


def test_records_of_unfinished_packages_are_removed_so_that_pip_installs_them_again(
    tmp_path: Path,
) -> None:
    packages = tmp_path / "site-packages"
    for name in ("a-1.dist-info", "b-1.dist-info", "~c"):
        (packages / name).mkdir(parents=True)
    (packages / "b-1.dist-info" / "INSTALLER").write_text("pip\n")
    assert install.remove_unfinished_packages(packages) == ["a-1.dist-info", "~c"]
    assert [path.name for path in packages.iterdir()] == ["b-1.dist-info"]


def test_second_installation_waits_for_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = [["torch"], []]  # the second look is after the wait
    monkeypatch.setattr(install, "missing_parts", lambda with_tests: missing.pop(0))
    answers = []
    with (tmp_path / ".venv.lock").open("a") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        second = threading.Thread(target=lambda: answers.append(install.install(with_tests=False)))
        second.start()
        second.join(timeout=0.5)
        assert second.is_alive()
    second.join(timeout=10)
    assert answers == [True]
    assert "another process installs into" in capsys.readouterr().out


def test_client_is_a_command_of_the_environment(tmp_path: Path) -> None:
    assert install.install(with_tests=False)
    command = [str(tmp_path / ".venv" / "bin" / "compilewatch"), "--help"]
    shown = subprocess.run(
        command,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0
    assert "usage: compilewatch" in shown.stdout


def test_torch_that_differs_from_the_hash_of_its_index_is_not_installed(tmp_path: Path) -> None:
    wheel = tmp_path / "torch-9.9-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("torch-9.9.dist-info/METADATA", "Name: torch\nVersion: 9.9\n")
    index = tmp_path / "torch" / "index.html"
    index.parent.mkdir()
    index.write_text(f'<a href="../{wheel.name}#sha256={"0" * 64}">{wheel.name}</a>')
    command = [sys.executable, "-m", "pip", "download", "--only-binary", ":all:", "--no-deps"]
    refused = subprocess.run(
        [*command, "--index-url", tmp_path.as_uri(), "--dest", str(tmp_path / "got"), "torch==9.9"],
        env={"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "DO NOT MATCH THE HASHES" in refused.stderr


def test_torch_is_never_built_from_source(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(install, "_pip", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(install, "_stamps", dict)
    install._install_part("torch")
    assert calls[0][1:3] == ("--only-binary", ":all:")


def test_python_that_an_existing_environment_ignores_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHON", sys.executable)
    (project.VENV / "lib" / "python3.9").mkdir(parents=True)
    assert install.install(with_tests=True)
    assert f"{project.VENV} has python3.9 and keeps it" in capsys.readouterr().out
