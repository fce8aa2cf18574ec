"""One function for each command of the Makefile: prepare the machine, then `.venv`, then act."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from dashboard.local import browser, checks, install, instance_lock, preflight, project
from dashboard.local.console import print_error, print_info

USAGE = (
    "python3 -m dashboard.local up | demo | test | test-gpu | test-slow | test-bare"
    " | drill | chaos | lint | lock"
)
# A process of tests for each core (tests/conftest.py says how many). Each takes whole files, whose
# tests share what was made for them, in the order in which they were collected. Where one dies the
# run ends: xdist would wait for ever for the tests that it still had.
IN_PARALLEL = (
    *("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"),
    *("--max-worker-restart", "0"),
)
LOCK_OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--quiet")
LOCK_FILES = {
    "requirements.txt": ("--extra", "local", "--extra", "suite", "--extra", "s3"),
    "docker/requirements.txt": ("--extra", "s3", "-c", "requirements.txt"),
    "tests/requirements.txt": ("--extra", "dev", "-c", "requirements.txt"),
}


def main(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "up": lambda rest: _without_arguments(rest, lambda: up([])),
        "demo": lambda rest: _without_arguments(rest, demo),
        "test": lambda rest: test("not gpu and not slow", [*IN_PARALLEL, *rest]),
        "test-gpu": lambda rest: test("gpu", rest),
        "test-slow": lambda rest: test("slow and not gpu", rest),
        "test-bare": test_bare_machine,
        "drill": lambda rest: run_module("tests.end_to_end.drill", rest),
        "chaos": lambda rest: run_module("tests.end_to_end.chaos", rest),
        "lint": lint,
        "lock": lock,
    }
    if arguments[:1] == ["offline"]:
        print_error("offline was removed: docs/offline.md measures with the suite alone")
        return 2
    if not arguments or arguments[0] not in commands:
        print_error(f"usage: {USAGE}")
        return 2
    os.chdir(project.ROOT)
    try:
        return commands[arguments[0]](arguments[1:])
    except KeyboardInterrupt:
        print_error("stopped; what is complete is kept, and starting again goes on from there")
        return 130


def up(result_folders: Sequence[str]) -> int:
    """Install what is missing and become the supervisor.

    result_folders: recorded elsewhere, to show instead of measuring here.
    """
    var, url = project.var_dir(), f"http://127.0.0.1:{project.port()}"
    if instance_lock.holder(var):
        print_info(instance_lock.describe_holder(var))
        return 0
    if not preflight.prepare_machine(needs_port=True):
        return 1
    lock = instance_lock.acquire(var, url)
    if lock is None:
        print_info(instance_lock.describe_holder(var))
        return 0
    with lock:
        if not install.install(with_tests=False):
            return 1
        instance_lock.keep(lock)
        return _become("-m", "dashboard.local.supervisor", *result_folders)


def demo() -> int:
    """`up` with recorded results, most of them of GPUs, and histories with alerts, in a data folder
    of its own.
    """
    os.environ.setdefault("VAR_DIR", str(project.ROOT / "var" / "demo"))
    return up(recorded_folders())


def recorded_folders() -> list[str]:
    """The folders of results that the demo shows."""
    data = project.ROOT / "tests" / "data"
    of_studies = (data / "drill", data / "fair_eager", data / "releases_cpu")
    folders = [*data.glob("*_h[12]00"), *data.glob("histories/*_history"), *of_studies]
    return sorted(map(str, folders))


def test(marker: str, rest: Sequence[str]) -> int:
    """Install what the tests need and become pytest, whose exit code and last lines are ours."""
    if not _prepare_for_tests():
        return 1
    chromium = browser.find_or_install()
    if chromium is None:
        return 1
    os.environ["CHROMIUM"] = str(chromium)
    return _become("-m", "pytest", "-m", marker, *rest)


def test_bare_machine(rest: Sequence[str]) -> int:
    """Prove `make up` on a machine that has nothing but make and python3."""
    script = project.ROOT / "tests" / "end_to_end" / "bare_machine.py"
    return subprocess.run([sys.executable, str(script), *rest], check=False).returncode


def run_module(module: str, rest: Sequence[str]) -> int:
    """Install what the tests need and become a module of theirs, which starts its own system."""
    if not _prepare_for_tests():
        return 1
    return _become("-m", module, *rest)


def lint(_: Sequence[str]) -> int:
    """Run every check; 1 when one of them failed."""
    if not _prepare_for_tests():
        return 1
    exit_code = 0
    for name in checks.COMMANDS:
        check = checks.run(name)
        if check.returncode == 0:
            print_info(f"{name}: ok")
            continue
        print_info(f"{name}: FAILED")
        sys.stdout.write(check.stdout)
        exit_code = 1
    return exit_code


def lock(rest: Sequence[str]) -> int:
    """Pin every requirement again: requirements.txt, and docker's and the tests' to go with it.

    Versions that are pinned already stay unless `--upgrade` is given.
    """
    if not _prepare_for_tests():
        return 1
    uv = str(project.VENV / "bin" / "uv")
    environment = {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"}
    for name, extras in LOCK_FILES.items():
        print_info(f"pinning {name}")
        options = [*LOCK_OPTIONS, *rest, *extras, "-o", name]
        command = [uv, "pip", "compile", "pyproject.toml", *options]
        process = subprocess.run(command, env=environment, check=False)
        if process.returncode != 0:
            return process.returncode
    return 0


def _without_arguments(rest: Sequence[str], command: Callable[[], int]) -> int:
    """Refuse arguments: whoever gives one, such as --help, does not want to start a site."""
    if rest:
        given = " ".join(rest)
        print_error(f"this command takes no arguments, and was given {given}; usage: {USAGE}")
        return 2
    return command()


def _prepare_for_tests() -> bool:
    return preflight.prepare_machine(needs_port=False) and install.install(with_tests=True)


def _become(*arguments: str) -> int:
    sys.stdout.flush()
    os.execv(project.VENV_PYTHON, [str(project.VENV_PYTHON), *arguments])  # noqa: S606
