"""One function for each command of the Makefile. Each makes the machine fit, then `.venv`, then
acts.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from dashboard.local import browser, checks, install, offline, preflight, project, single
from dashboard.local.console import complain, say

USAGE = (
    "python3 -m dashboard.local up | demo | offline | test | test-gpu | test-slow | test-bare"
    " | drill | chaos | lint | lock"
)
# A process of tests for each core (tests/conftest.py says how many). Each takes whole files, whose
# tests share what was made for them, in the order in which they were collected.
IN_PARALLEL = ("-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
LOCK_OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--quiet")


def main(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    commands: dict[str, Callable[[Sequence[str]], int]] = {
        "up": lambda rest: _alone(rest, lambda: up([])),
        "demo": lambda rest: _alone(rest, demo),
        "offline": offline.main,
        "test": lambda rest: test("not gpu and not slow", [*IN_PARALLEL, *rest]),
        "test-gpu": lambda rest: test("gpu", rest),
        "test-slow": lambda rest: test("slow and not gpu", rest),
        "test-bare": bare,
        "drill": lambda rest: with_tests("tests.end_to_end.drill", rest),
        "chaos": lambda rest: with_tests("tests.end_to_end.chaos", rest),
        "lint": lint,
        "lock": lock,
    }
    if not arguments or arguments[0] not in commands:
        complain(f"usage: {USAGE}")
        return 2
    os.chdir(project.ROOT)
    try:
        return commands[arguments[0]](arguments[1:])
    except KeyboardInterrupt:
        complain("stopped; what is complete is kept, and starting again goes on from there")
        return 130


def up(recorded: Sequence[str]) -> int:
    """Install what is missing and become the supervisor, for measuring here or for what was
    `recorded` elsewhere.
    """
    if single.running_at(project.var_dir()):
        say(single.describe(project.var_dir()))
        return 0
    if not (preflight.make_fit(needs_port=True) and install.install(with_tests=False)):
        return 1
    return _become("-m", "dashboard.local.supervisor", *recorded)


def _alone(rest: Sequence[str], command: Callable[[], int]) -> int:
    """A command that takes no arguments: whoever gives one, such as --help, wants something else
    than its site.
    """
    if rest:
        complain(f"this command takes no arguments, and was given {' '.join(rest)}; usage: {USAGE}")
        return 2
    return command()


def demo() -> int:
    """`up` with what was recorded on GPUs, and histories with their alerts, in a data folder of its
    own.
    """
    os.environ.setdefault("VAR_DIR", str(project.ROOT / "var" / "demo"))
    data = project.ROOT / "tests" / "data"
    return up(
        [str(folder) for folder in sorted({*data.glob("h[12]00_*"), *data.glob("*_history")})]
    )


def test(marker: str, rest: Sequence[str]) -> int:
    """Install what the tests need and become pytest, whose exit code and last lines are ours."""
    if not (preflight.make_fit(needs_port=False) and install.install(with_tests=True)):
        return 1
    chromium = browser.find_or_install()
    if chromium is None:
        return 1
    os.environ["CHROMIUM"] = str(chromium)
    return _become("-m", "pytest", "-m", marker, *rest)


def lint(_: Sequence[str]) -> int:
    """Run every check; 1 when one of them found something."""
    if not (preflight.make_fit(needs_port=False) and install.install(with_tests=True)):
        return 1
    failed = []
    for name in checks.COMMANDS:
        done = checks.run(name)
        say(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            failed.append(name)
            sys.stdout.write(done.stdout)
    return 1 if failed else 0


def lock(rest: Sequence[str]) -> int:
    """Pin anew: requirements.txt for the site and the suite; to go with it docker's for the site
    alone, and the tests'.

    Versions that are pinned already stay unless `--upgrade` is given.
    """
    if not (preflight.make_fit(needs_port=False) and install.install(with_tests=True)):
        return 1
    files = [
        ("requirements.txt", ["--extra", "suite", "--extra", "s3"]),
        ("docker/requirements.txt", ["--extra", "s3", "-c", "requirements.txt"]),
        ("tests/requirements.txt", ["--extra", "dev", "-c", "requirements.txt"]),
    ]
    compile_one = [
        str(project.VENV / "bin" / "uv"),
        "pip",
        "compile",
        "pyproject.toml",
        *LOCK_OPTIONS,
        *rest,
    ]
    environment = {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": "make lock"}
    for name, options in files:
        say(f"pinning {name}")
        done = subprocess.run([*compile_one, *options, "-o", name], env=environment, check=False)
        if done.returncode != 0:
            return done.returncode
    return 0


def bare(rest: Sequence[str]) -> int:
    """Prove `make up` on a machine that has nothing but make and python3."""
    script = project.ROOT / "tests" / "end_to_end" / "bare_machine.py"
    return subprocess.run([sys.executable, str(script), *rest], check=False).returncode


def with_tests(module: str, rest: Sequence[str]) -> int:
    """Install what the tests need and become a program of theirs, which starts a system of its
    own.
    """
    if not (preflight.make_fit(needs_port=False) and install.install(with_tests=True)):
        return 1
    return _become("-m", module, *rest)


def _become(*arguments: str) -> int:
    sys.stdout.flush()
    os.execv(project.VENV_PYTHON, [str(project.VENV_PYTHON), *arguments])  # noqa: S606
