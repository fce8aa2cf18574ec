"""The project as an installed package brings the command."""

import ast
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
IN_A_WHEEL = {
    "pyproject.toml",
    "README.md",
    "benchmarks_suite",
    "compilewatch_client",
    "dashboard",
    "runner",
}


def test_project_installs_the_command() -> None:
    [(name, value)] = PROJECT["project"]["scripts"].items()
    assert name == "compilewatch"
    assert EntryPoint(name, value, "console_scripts").load() is main


def test_old_python_is_an_error_in_one_line() -> None:
    code = (
        "import runpy, sys; sys.version_info = (3, 9, 1); "
        "runpy.run_module('compilewatch_client', run_name='__main__')"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert process.stderr == f"compilewatch: this needs Python 3.11 or later: {sys.executable}\n"


def test_files_that_an_old_python_reads_keep_to_its_syntax() -> None:
    for name in ("__init__", "__main__", "errors"):
        source = (ROOT / "compilewatch_client" / f"{name}.py").read_text()
        ast.parse(source, feature_version=(3, 6))


@pytest.mark.slow
def test_wheel_has_every_package_with_its_files(tmp_path: Path) -> None:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    source = tmp_path / "source"
    for name in tracked:
        if name.split("/")[0] in IN_A_WHEEL:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*pip, "-w", str(tmp_path), str(source)], check=True)
    packed = set(ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    tracked = [name for name in tracked if not name.endswith("/README.md")]  # for who reads code
    code = {name for name in tracked if name.startswith(("compilewatch_client/", "dashboard/"))}
    assert code <= packed
