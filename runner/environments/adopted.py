"""Interpreters that the worker found and did not make: SUITE_PYTHON, and others by path in
SUITE_PYTHONS.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from runner.process import environment
from runner.settings import PROJECT, Settings
from runner.site import Wanted

# What an interpreter says of its torch build: printed, or written to a file that is named; modules
# named after it are imported, too. version: the one to install it by, which on PyPI lacks the
# +cu130 of the label.
FACTS_SCRIPT = """
import importlib, importlib.metadata, json, platform, sys
import torch

def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

for module in sys.argv[2:]:
    importlib.import_module(module)
libraries = ("numpy", "transformers", "diffusers", "timm", "torchvision", "torchao")
told = json.dumps({
    "label": torch.__version__, "version": version("torch") or torch.__version__,
    "git_sha": torch.version.git_version or "", "cuda": torch.version.cuda or "",
    "triton": version("triton") or version("pytorch-triton"),
    "python": platform.python_version(),
    "libraries": {name: found for name in libraries if (found := version(name))},
})
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(told)
else:
    print(told)
"""
PATIENCE_S = 300  # the first import of torch from a cold or remote disk takes minutes

logger = structlog.get_logger(__name__)


class UnfitEnvironment(Exception):
    """An interpreter cannot run the suite. The text says what is missing and what to do."""


@dataclass(frozen=True)
class Environment:
    """One torch build and the command that runs the suite in it."""

    command: tuple[str, ...]
    # As hello sends it: label, version, git_sha, cuda, triton, libraries, adopted
    build: dict[str, Any]
    catalog: dict[str, Any]  # as `benchmarks_suite list --json` prints it
    python_path: str = ""  # PYTHONPATH for the suite

    @property
    def label(self) -> str:
        return str(self.build["label"])

    def serves(self, wanted: Wanted) -> bool:
        """Whether it is the build that is wanted, and has the library versions that were asked for.

        A torch of the same version from the same kind of index is that build, whatever the site
        calls it.
        """
        is_same = not wanted.index_url and self.build["version"] == wanted.version
        has: dict[str, str] = self.build.get("libraries", {})
        return (is_same or self.label == wanted.build) and wanted.libraries.items() <= has.items()


def adopt(settings: Settings) -> Environment:
    """The environment of SUITE_PYTHON. Raises UnfitEnvironment."""
    return _adopted("SUITE_PYTHON", settings.suite_python, settings.models)


def adopt_also(settings: Settings) -> tuple[Environment, ...]:
    """Those of SUITE_PYTHONS that can run the suite; the others are told in the log, and the worker
    goes on.
    """
    found = []
    for interpreter in settings.suite_pythons:
        try:
            found.append(_adopted("SUITE_PYTHONS", interpreter))
        except UnfitEnvironment as reason:
            logger.error("an interpreter is left out", why=str(reason))
    return tuple(found)


def import_path() -> str:
    """PYTHONPATH for the suite in an adopted interpreter: this project, then what was set."""
    return os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")]))


def _adopted(setting: str, interpreter: str, models: Sequence[str] = ()) -> Environment:
    build = _ask(setting, [interpreter, "-c", FACTS_SCRIPT], "torch cannot be imported in it")
    command = (interpreter, "-m", "benchmarks_suite")
    of_own = [word for path in models for word in ("--from", path)]
    catalog = _ask(setting, [*command, "list", "--json", *of_own], "it cannot run the suite")
    return Environment(command, {**build, "adopted": True}, catalog, import_path())


def _ask(setting: str, command: Sequence[str], complaint: str) -> dict[str, Any]:
    """The JSON object that a command prints."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd="/",
            check=True,
            env=environment(os.environ, "adopt", {"PYTHONPATH": import_path()}),
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise UnfitEnvironment(f"{setting} is {command[0]}, but {complaint}: {last}") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UnfitEnvironment(f"{setting} is {command[0]}, but {complaint}: {error}") from error
    return answer
