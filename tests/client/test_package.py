"""The project as an installed package brings the command."""

import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import pytest

from compilewatch_client.__main__ import main
from tests.builders.docker_files import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_command_is_what_the_project_installs() -> None:
    [(name, value)] = PROJECT["project"]["scripts"].items()
    assert name == "compilewatch"
    assert EntryPoint(name, value, "console_scripts").load() is main


@pytest.mark.slow
def test_a_wheel_has_every_package_with_its_files(tmp_path: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in tracked.splitlines():
        if name.split("/")[0] in {
            "pyproject.toml",
            "README.md",
            "benchmarks_suite",
            "compilewatch_client",
            "dashboard",
            "runner",
        }:
            (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "source" / name).write_bytes((ROOT / name).read_bytes())
    wheel = [
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(tmp_path),
        str(tmp_path / "source"),
    ]
    subprocess.run([sys.executable, *wheel], check=True)
    packed = set(ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    code = {
        name
        for name in tracked.splitlines()
        if "/" in name and name.startswith(("compilewatch_client", "dashboard/"))
    }
    assert code <= packed
