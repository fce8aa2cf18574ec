"""What `make up` says before anything half-happens."""

import ast
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dashboard.local import __main__ as entry
from dashboard.local import probe, project
from dashboard.local.preflight import advice, problems
from dashboard.local.probe import Facts


def facts(**changes: Any) -> Facts:
    """A machine on which nothing is missing, but for `changes`."""
    fit: dict[str, Any] = {
        "python": (3, 11),
        "system": "Linux",
        "machine": "x86_64",
        "glibc": (2, 36),
        "has_venv": True,
        "has_compiler": True,
        "has_headers": True,
        "folder": Path("/srv/compilewatch"),
        "closed_folder": None,
        "free_gb": 50.0,
        "needed_gb": 11.0,
        "port": 8000,
        "port_holder": None,
        "is_root": False,
        "has_apt": True,
    }
    return Facts(**{**fit, **changes})


def told(**changes: Any) -> str:
    machine = facts(**changes)
    return "\n".join(advice(problems(machine), machine))


def test_a_fit_machine_has_no_problems() -> None:
    assert problems(facts()) == []


def test_all_missing_packages_are_in_one_line_for_apt_get() -> None:
    said = told(has_venv=False, has_compiler=False, has_headers=False)
    assert "sudo apt-get install -y python3.11-venv g++ python3.11-dev" in said.splitlines()[-1]


def test_the_packages_are_those_of_the_python_that_runs() -> None:
    assert "python3.13-venv" in told(has_venv=False, python=(3, 13))


def test_without_apt_the_missing_compiler_is_still_named() -> None:
    said = told(has_compiler=False, has_apt=False)
    assert "g++" in said
    assert "apt-get" not in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"free_gb": 3.0}, ["/srv/compilewatch", "3.0 GB", "11 GB"]),
        (
            {"port_holder": "process 77 (nginx)"},
            ["8000", "process 77 (nginx)", "same command", "PORT=8001"],
        ),
        ({"closed_folder": Path("/srv")}, ["/srv cannot be written to"]),
        ({"glibc": (0, 0)}, ["not glibc"]),
        ({"glibc": (2, 27)}, ["glibc 2.27", "2.28"]),
        ({"system": "Darwin", "machine": "arm64"}, ["Darwin on arm64"]),
        ({"machine": "riscv64"}, ["riscv64"]),
    ],
)
def test_each_problem_is_named_with_its_place_and_remedy(
    changes: dict[str, Any], words: list[str]
) -> None:
    said = told(**changes)
    assert [word for word in words if word not in said] == []


def test_problems_that_packages_cannot_mend_are_told_with_them() -> None:
    assert (
        len(problems(facts(has_compiler=False, free_gb=1.0, port_holder="process 5 (python)"))) == 3
    )


def test_this_machine_is_fit_for_the_tests_that_run_on_it() -> None:
    assert problems(probe.probe(needs_port=False)) == []


def test_a_taken_port_is_reported_with_the_process_that_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        holder = probe.listener(server.getsockname()[1])
    assert holder is not None
    assert "process" in holder


def test_a_free_port_has_no_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert probe.listener(port) is None


def test_the_supported_python_versions_are_those_of_the_project_file() -> None:
    with (project.ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["requires-python"]
    (major, oldest), (_, newest) = entry.OLDEST, entry.NEWEST
    assert wanted == f">={major}.{oldest},<{major}.{newest + 1}"


def test_a_python_out_of_range_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.version_info", (3, 10, 4))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"python3 here is 3\.10, and Compilewatch needs 3\.11 to 3\.13"
    ):
        entry.use_supported_python()


def test_a_python_out_of_range_goes_on_in_one_that_is_on_the_path(tmp_path: Path) -> None:
    other = tmp_path / "python3.12"
    other.write_text('#!/bin/sh\necho "went on with $*"\n')
    other.chmod(0o755)
    code = (
        "import sys; sys.version_info = (3, 14); from dashboard.local.__main__ import *; "
        "use_supported_python()"
    )
    command = [sys.executable, "-c", code, "up"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=project.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "went on with -m dashboard.local up\n"


def test_what_an_old_python_reads_is_in_a_syntax_that_it_knows() -> None:
    for name in ("__init__.py", "local/__init__.py", "local/__main__.py"):
        ast.parse((project.ROOT / "dashboard" / name).read_text(), feature_version=(3, 7))


@pytest.mark.parametrize("text", ["http", "0", "70000", "-1"])
def test_a_port_that_is_no_port_ends_with_the_variables_name(text: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("PORT", text)
    with pytest.raises(SystemExit, match="PORT is"):
        project.port()
