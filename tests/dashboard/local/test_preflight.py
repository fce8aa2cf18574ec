"""The problems that `make up` reports before it begins."""

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
from dashboard.local import machine_facts, project
from dashboard.local.machine_facts import MachineFacts
from dashboard.local.preflight import find_problems, remedies


def facts(**changes: Any) -> MachineFacts:
    """A machine on which nothing is missing, except for `changes`."""
    complete: dict[str, Any] = {
        "python": (3, 11),
        "system": "Linux",
        "machine": "x86_64",
        "glibc": (2, 36),
        "has_venv": True,
        "has_compiler": True,
        "has_headers": True,
        "folder": Path("/srv/compilewatch"),
        "compiler_folders": (Path("/srv/compilewatch"), Path("/data/é"), Path("/tmp")),
        "closed_folder": None,
        "free_gb": 50.0,
        "needed_gb": 11.0,
        "data_folder": Path("/data/compilewatch"),
        "data_free_gb": None,
        "port": 8000,
        "port_holder": None,
        "is_root": False,
        "has_apt": True,
    }
    return MachineFacts(**{**complete, **changes})


def report(**changes: Any) -> str:
    machine = facts(**changes)
    return "\n".join(remedies(find_problems(machine), machine))


def test_complete_machine_has_no_problems() -> None:
    assert find_problems(facts()) == []


def test_all_missing_packages_are_in_one_line_for_apt_get() -> None:
    last_line = report(
        has_venv=False,
        has_compiler=False,
        has_headers=False,
    ).splitlines()[-1]
    assert "sudo apt-get install -y python3.11-venv g++ python3.11-dev" in last_line


def test_packages_are_those_of_the_running_python() -> None:
    assert "python3.13-venv" in report(has_venv=False, python=(3, 13))


def test_without_apt_the_missing_compiler_is_still_named() -> None:
    text = report(has_compiler=False, has_apt=False)
    assert "g++" in text
    assert "apt-get" not in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"free_gb": 3.0}, ["/srv/compilewatch", "3.0 GB", "11 GB"]),
        ({"data_free_gb": 0.03}, ["/data/compilewatch", "0.03 GB free", "VAR_DIR"]),
        (
            {"port_holder": "process 77 (nginx)"},
            ["8000", "process 77 (nginx)", "same command", "PORT=8001"],
        ),
        ({"closed_folder": Path("/srv")}, ["/srv cannot be written to"]),
        ({"compiler_folders": (Path("/srv/my project"),)}, ["“/srv/my project” has a space"]),
        ({"compiler_folders": (Path("/tmp"), Path("/srv/o'neil"))}, ["“/srv/o'neil”", "VAR_DIR"]),
        ({"glibc": (0, 0)}, ["not glibc"]),
        ({"glibc": (2, 27)}, ["glibc 2.27", "2.28"]),
        ({"system": "Darwin", "machine": "arm64"}, ["Darwin on arm64"]),
        ({"machine": "riscv64"}, ["riscv64"]),
    ],
)
def test_each_problem_is_named_with_its_place_and_remedy(
    changes: dict[str, Any], words: list[str]
) -> None:
    text = report(**changes)
    assert [word for word in words if word not in text] == []


def test_problems_that_no_package_fixes_are_reported_with_the_others() -> None:
    machine = facts(
        has_compiler=False,
        free_gb=1.0,
        port_holder="process 5 (python)",
    )
    assert len(find_problems(machine)) == 3


def test_this_machine_is_ready_for_the_tests_that_run_on_it() -> None:
    assert find_problems(machine_facts.collect(needs_port=False)) == []


def test_taken_port_is_reported_with_the_process_that_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        holder = machine_facts.port_holder(server.getsockname()[1])
    assert holder is not None
    assert "process" in holder


def test_free_port_has_no_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert machine_facts.port_holder(port) is None


def test_supported_python_versions_are_those_of_the_project_file() -> None:
    with (project.ROOT / "pyproject.toml").open("rb") as file:
        requires_python = tomllib.load(file)["project"]["requires-python"]
    (major, oldest), (_, newest) = entry.OLDEST, entry.NEWEST
    assert requires_python == f">={major}.{oldest},<{major}.{newest + 1}"


def test_unsupported_python_ends_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.version_info", (3, 10, 4))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"python3 here is 3\.10, and Compilewatch needs 3\.11 to 3\.13"
    ):
        entry.use_supported_python()


def test_unsupported_python_continues_in_a_supported_one_on_the_path(tmp_path: Path) -> None:
    other = tmp_path / "python3.12"
    other.write_text('#!/bin/sh\necho "went on with $*"\n')
    other.chmod(0o755)
    code = (
        "import sys; sys.version_info = (3, 14); from dashboard.local.__main__ import *; "
        "use_supported_python()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "up"],
        cwd=project.ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == "went on with -m dashboard.local up\n"
    assert process.stderr == f"python3 here is 3.14, too old or too new: continuing with {other}\n"


def test_files_that_an_old_python_reads_keep_to_its_syntax() -> None:
    too_new = []
    for name in ("__init__.py", "local/__init__.py", "local/__main__.py"):
        source = (project.ROOT / "dashboard" / name).read_text()
        try:
            ast.parse(source, feature_version=(3, 7))
        except SyntaxError as error:
            too_new.append(f"{name}:{error.lineno}: {error.msg}")
    assert too_new == []


@pytest.mark.parametrize("text", ["http", "0", "70000", "-1"])
def test_invalid_port_ends_with_the_name_of_the_variable(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORT", text)
    with pytest.raises(SystemExit, match="PORT is"):
        project.port()
