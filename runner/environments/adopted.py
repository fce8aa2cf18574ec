"""Interpreters that the worker did not make: SUITE_PYTHON, and others by path in SUITE_PYTHONS."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from runner.process import process_variables
from runner.settings import PROJECT, WorkerSettings
from runner.site import RequestedEnvironment

# What an interpreter says of its torch build: printed, or written to the file that is named first;
# modules named after it are imported, too. version: the one to install torch by, which on PyPI
# lacks the +cu130 of the label.
FACTS_SCRIPT = """
import importlib, importlib.metadata, json, platform, sys
import torch

def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""

for module in sys.argv[2:]:
    try:
        importlib.import_module(module)
    except RuntimeError as error:
        # A torchvision for CUDA next to a torch for CPUs: the suite declares its operators
        if "torchvision::nms" not in str(error):
            raise
names = ("numpy", "transformers", "diffusers", "timm", "torchvision", "torchao")
libraries = {name: version(name) for name in names}
facts = json.dumps({
    "label": torch.__version__, "version": version("torch") or torch.__version__,
    "git_sha": torch.version.git_version or "", "cuda": torch.version.cuda or "",
    "triton": version("triton") or version("pytorch-triton"),
    "python": platform.python_version(),
    "libraries": {name: number for name, number in libraries.items() if number},
})
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as file:
        file.write(facts)
else:
    print(facts)
"""
PATIENCE_S = 300  # the first import of torch from a cold or remote disk takes minutes

logger = structlog.get_logger(__name__)


class UnusableEnvironment(Exception):
    """An interpreter cannot run the suite. The text says what is missing and what to do."""


@dataclass(frozen=True)
class SuiteEnvironment:
    """One torch build and the command that runs the suite in it."""

    command: tuple[str, ...]
    # As hello sends it: label, version, git_sha, cuda, triton, libraries, adopted
    build: dict[str, Any]
    catalog: dict[str, Any]  # as `benchmarks_suite list --json` prints it
    python_path: str = ""  # PYTHONPATH for the suite

    @property
    def label(self) -> str:
        return str(self.build["label"])

    def serves(self, requested: RequestedEnvironment) -> bool:
        """Test whether it is the requested build, and has the requested library versions.

        A torch of the same version from the same kind of index is that build, whatever the site
        calls it.
        """
        has_label = self.label == requested.build
        has_version = not requested.index_url and self.build["version"] == requested.version
        libraries: dict[str, str] = self.build.get("libraries", {})
        has_libraries = requested.libraries.items() <= libraries.items()
        return (has_label or has_version) and has_libraries


def adopt(settings: WorkerSettings) -> SuiteEnvironment:
    """The environment of SUITE_PYTHON. Raises UnusableEnvironment."""
    return _adopt("SUITE_PYTHON", settings.suite_python, settings.models)


def adopt_further(settings: WorkerSettings) -> tuple[SuiteEnvironment, ...]:
    """Adopt those of SUITE_PYTHONS that can run the suite; the others are only logged."""
    environments = []
    for interpreter in settings.suite_pythons:
        try:
            environments.append(_adopt("SUITE_PYTHONS", interpreter))
        except UnusableEnvironment as reason:
            logger.error("an interpreter is left out", why=str(reason))
    return tuple(environments)


def import_path() -> str:
    """PYTHONPATH for the suite in an adopted interpreter: this project, then what was set."""
    inherited = os.environ.get("PYTHONPATH")
    if not inherited:
        return str(PROJECT)
    return f"{PROJECT}{os.pathsep}{inherited}"


def _adopt(setting: str, interpreter: str, models: Sequence[str] = ()) -> SuiteEnvironment:
    facts_command = [interpreter, "-c", FACTS_SCRIPT]
    build = _read_json(setting, facts_command, "torch cannot be imported in it")
    command = (interpreter, "-m", "benchmarks_suite")
    list_command = [*command, "list", "--json"]
    for path in models:
        list_command += ["--from", path]
    catalog = _read_json(setting, list_command, "it cannot run the suite")
    return SuiteEnvironment(command, {**build, "adopted": True}, catalog, import_path())


def _read_json(setting: str, command: Sequence[str], complaint: str) -> dict[str, Any]:
    """The JSON object that a command prints. Raises UnusableEnvironment."""
    problem = f"{setting} is {command[0]}, but {complaint}"
    variables = process_variables(os.environ, "adopt", {"PYTHONPATH": import_path()})
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd="/",
            check=True,
            env=variables,
        )
        answer: dict[str, Any] = json.loads(process.stdout)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or ["it printed nothing"]
        raise UnusableEnvironment(f"{problem}: {lines[-1]}") from error
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UnusableEnvironment(f"{problem}: {error}") from error
    return answer
