"""The environments in which the suite can run: interpreters that have torch, each one torch build."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runner.process import environment
from runner.settings import PROJECT, Settings

BUILD_SCRIPT = """
import importlib.metadata, json, platform
import torch

try:
    triton = importlib.metadata.version("triton")
except importlib.metadata.PackageNotFoundError:
    triton = ""
print(json.dumps({
    "label": torch.__version__, "version": torch.__version__, "git_sha": torch.version.git_version or "",
    "cuda": torch.version.cuda or "", "triton": triton, "python": platform.python_version(),
}))
"""
PATIENCE_S = 300  # the first import of torch from a cold or remote disk takes minutes


class UnfitEnvironment(Exception):
    """An interpreter cannot run the suite. The text says what is missing and what to do."""


@dataclass(frozen=True)
class Environment:
    """One torch build and the command that runs the suite in it."""

    command: tuple[str, ...]
    build: dict[str, Any]  # as hello sends it: label, version, git_sha, cuda, triton, adopted
    catalog: dict[str, Any]  # as `benchmarks_suite list --json` prints it

    @property
    def label(self) -> str:
        return str(self.build["label"])


def adopt(settings: Settings) -> Environment:
    """The environment of SUITE_PYTHON, which the worker found and did not make. Raises UnfitEnvironment."""
    build = _ask([settings.suite_python, "-c", BUILD_SCRIPT], "torch cannot be imported in it")
    command = (settings.suite_python, "-m", "benchmarks_suite")
    catalog = _ask([*command, "list", "--json"], "it cannot run the suite")
    return Environment(command, {**build, "adopted": True}, catalog)


def import_path() -> str:
    """PYTHONPATH for the suite: this project, then what was set."""
    return os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")]))


def _ask(command: Sequence[str], complaint: str) -> dict[str, Any]:
    """The JSON object that a command prints."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, cwd="/", check=True,
            env=environment(os.environ, "adopt", {"PYTHONPATH": import_path()}),
        )  # fmt: skip
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise UnfitEnvironment(f"SUITE_PYTHON is {command[0]}, but {complaint}: {last}") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UnfitEnvironment(f"SUITE_PYTHON is {command[0]}, but {complaint}: {error}") from error
    return answer
