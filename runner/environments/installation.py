"""Installs one environment: resolve, install, verify. uv does it; where it cannot, pip is tried.

uv does not see what pip is configured with in ways for which uv has no option, and a machine may
lack uv. Where uv has found that the requirements contradict each other, pip would find that too,
slowly, and is not tried.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.commands import CommandFailed, CommandRunner
from runner.environments.adopted import FACTS_SCRIPT
from runner.environments.package_managers import PackageManager
from runner.environments.package_sources import PackageSources
from runner.environments.requirement_lines import pinned_lines
from runner.environments.target_platform import without_unused_packages
from runner.suite_account import SuiteAccount, open_to
from runner.suite_files import read_suite_file

IMPORT_LIMIT_S = 600.0  # the first import of torch from a cold disk
CONTRADICTION = "No solution found"
UNSEEN_PACKAGE = (
    "there is no version of",
    "was not found in the package registry",
    "there are no versions of",
)
# They are imported where they are installed
VERIFIED_LIBRARIES = ("numpy", "transformers", "diffusers", "timm", "torchvision", "torchao")
Answer = TypeVar("Answer")


class InstallationFailed(Exception):
    """The environment cannot be installed. The text is the installers' own."""


@dataclass
class EnvironmentInstaller:
    """Installs environments for one job.

    scratch: an empty folder for intermediate files. torch_hashes: SHA-256 of the wheels of torch,
    one of which is installed; empty: any. account: whom the suite runs as; None: the worker.
    """

    managers: Sequence[PackageManager]
    sources: PackageSources
    device_kind: str
    commands: CommandRunner
    scratch: Path
    torch_hashes: Sequence[str] = ()
    account: SuiteAccount | None = None

    def __post_init__(self) -> None:
        self.scratch.mkdir(parents=True, exist_ok=True)
        if self.torch_hashes:
            # pip takes a hash for every package or for none
            self.managers = [manager for manager in self.managers if manager.name == "uv"]

    def resolve(self, packages: Sequence[str], within: str = "") -> str:
        """The pinned set for these top-level requirements, one `name==version` a line.

        within: a pinned set whose versions count for what is needed. Raises InstallationFailed.
        """
        listed, limits = self.scratch / "packages.txt", self.scratch / "constraints.txt"
        listed.write_text("\n".join(packages) + "\n")
        limits.write_text(within)
        venv = self.scratch / "venv"

        def resolve_with(manager: PackageManager) -> str:
            answer = self.scratch / f"{manager.name}-answer"
            if manager.name == "pip":
                self.commands.run(manager.create_venv(venv))
            self.commands.run(manager.resolve(listed, limits, answer, venv, self.sources))
            pinned = pinned_lines(manager.read_resolved(answer))
            return without_unused_packages(pinned, self.device_kind)

        return self._with_first_able(resolve_with)

    def install(self, requirements: str, folder: Path) -> None:
        """Make `folder` a virtual environment of exactly these packages.

        Raises InstallationFailed.
        """
        pinned = self.scratch / "pinned.txt"
        hashes = "".join(f" --hash=sha256:{digest}" for digest in self.torch_hashes)
        lines = []
        for line in requirements.splitlines():
            lines.append(line + hashes if line.startswith("torch==") else line)
        pinned.write_text("\n".join(lines) + "\n")

        def install_with(manager: PackageManager) -> None:
            self.commands.run(manager.create_venv(folder))
            command = manager.install(pinned, folder, self.sources)
            if self.torch_hashes:
                # Its cache may hold another wheel of that name
                command += ["--refresh-package", "torch"]
            self.commands.run(command)

        self._with_first_able(install_with)
        # By our own interpreter: that of the environment would run what was just installed
        compile_all = [sys.executable, "-I", "-m", "compileall", "-qq", "-j", "0", str(folder)]
        with suppress(CommandFailed):  # a file for another Python
            self.commands.run(compile_all)

    def verify(self, requirements: str, folder: Path) -> dict[str, Any]:
        """Ask the interpreter in `folder` about its torch, after importing the libraries.

        It runs as the suite's account, as all that was installed. Raises InstallationFailed.
        """
        names = {line.partition("==")[0] for line in requirements.splitlines()}
        modules = [name for name in VERIFIED_LIBRARIES if name in names]
        python = str(folder / "bin" / "python")
        answers = self.scratch / "answers"
        answers.mkdir(exist_ok=True)
        open_to(self.account, answers)
        answer = answers / "facts.json"
        command = [python, "-I", "-c", FACTS_SCRIPT, str(answer), *modules]
        try:
            self.commands.run(command, IMPORT_LIMIT_S, self.account)
            facts: dict[str, Any] = json.loads(read_suite_file(answer))
        except (CommandFailed, ValueError) as error:
            raise InstallationFailed(f"it was installed, but cannot be imported: {error}") from None
        return facts

    def _with_first_able(self, action: Callable[[PackageManager], Answer]) -> Answer:
        """Return the answer of the first package manager that can do it.

        Raises InstallationFailed with the messages of all that were tried.
        """
        messages = []
        for manager in self.managers:
            try:
                return action(manager)
            except CommandFailed as failure:
                output = str(failure)
                messages.append(f"{manager.name}: {error_message(output)}")
                if is_contradiction(output):
                    break
        if not messages and self.torch_hashes:
            raise InstallationFailed(
                "a release candidate is installed by uv alone, which checks that its wheel is the "
                "one that was seen on the index: install uv next to the worker"
            )
        if not messages:
            raise InstallationFailed(
                "neither uv nor pip is installed next to the worker: install one of them"
            )
        raise InstallationFailed("\n".join(messages))


def error_message(output: str) -> str:
    """An installer's output from its first line that begins with "error:"; else all of it."""
    match = re.search(r"^error:", output, re.MULTILINE | re.IGNORECASE)
    return output[match.start() :] if match else output


def is_contradiction(output: str) -> bool:
    """Test whether an installer saw every requested package, and found that they contradict."""
    if CONTRADICTION not in output:
        return False
    unwrapped = " ".join(output.split())
    return not any(words in unwrapped for words in UNSEEN_PACKAGE)
