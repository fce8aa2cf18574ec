"""Makes one environment: resolve, install, try. uv does it; where it cannot, pip is tried.

uv does not see what only pip is told of in ways that uv has no option for, and a machine may lack
it. Where uv has found that the requirements contradict each other, pip would find that too, slowly,
and is not asked.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from runner.environments.adopted import FACTS_SCRIPT
from runner.environments.index import Index
from runner.environments.steps import StepFailed, Steps
from runner.environments.target import needed
from runner.environments.tools import Tool

TRY_LIMIT_S = 600.0  # the first import of torch from a cold disk
CONTRADICTION = "No solution found"
NOT_SEEN = (
    "there is no version of",
    "was not found in the package registry",
    "there are no versions of",
)
# If they are to be installed
IMPORTED = ("numpy", "transformers", "diffusers", "timm", "torchvision", "torchao")
Done = TypeVar("Done")


class CannotMake(Exception):
    """The environment cannot be made. The text is the installers' own."""


class Maker:
    """Makes environments for one job. scratch: an empty folder for files on the way."""

    def __init__(
        self, tools: Sequence[Tool], index: Index, device_kind: str, steps: Steps, scratch: Path
    ) -> None:
        self._tools, self._index, self._device_kind = tools, index, device_kind
        self._steps, self._scratch = steps, scratch
        scratch.mkdir(parents=True, exist_ok=True)

    def resolve(self, packages: Sequence[str]) -> str:
        """The fully pinned set for these top-level requirements, one `name==version` a line. Raises
        CannotMake.
        """
        asked, venv = self._scratch / "asked.txt", self._scratch / "venv"
        asked.write_text("\n".join(packages) + "\n")

        def once(tool: Tool) -> str:
            answer = self._scratch / f"{tool.name}-answer"
            if tool.name == "pip":
                self._steps.run(tool.venv(venv))
            self._steps.run(tool.resolve(asked, answer, venv, self._index))
            return needed(tool.read(answer), self._device_kind)

        return self._with_each_tool(once)

    def install(self, requirements: str, folder: Path) -> None:
        """Fill `folder` with a virtual environment of exactly these packages. Raises CannotMake."""
        pinned = self._scratch / "pinned.txt"
        pinned.write_text(requirements)

        def once(tool: Tool) -> None:
            self._steps.run(tool.venv(folder))
            self._steps.run(tool.install(pinned, folder, self._index))

        self._with_each_tool(once)

    def attempt(self, requirements: str, folder: Path) -> dict[str, Any]:
        """What the interpreter in `folder` says of its torch, after importing the libraries. Raises
        CannotMake.
        """
        names = {line.partition("==")[0] for line in requirements.splitlines()}
        modules = [name for name in IMPORTED if name in names]
        answer = self._scratch / "facts.json"
        try:
            python = str(folder / "bin" / "python")
            self._steps.run([python, "-I", "-c", FACTS_SCRIPT, str(answer), *modules], TRY_LIMIT_S)
            facts: dict[str, Any] = json.loads(answer.read_text())
        except (StepFailed, ValueError) as error:
            raise CannotMake(f"it was installed, but cannot be imported: {error}") from None
        return facts

    def _with_each_tool(self, once: Callable[[Tool], Done]) -> Done:
        """What the first tool that can do it brings. Raises CannotMake with the words of each that
        was tried.
        """
        said = []
        for tool in self._tools:
            try:
                return once(tool)
            except StepFailed as failure:
                said.append(f"{tool.name}: {complaint(str(failure))}")
                if is_contradiction(str(failure)):
                    break
        raise CannotMake(
            "\n".join(said)
            or "neither uv nor pip is installed beside the worker: install one of them"
        )


def complaint(words: str) -> str:
    """What an installer printed, from its first line that begins with "error:"; all of it where
    there is none.
    """
    found = re.search(r"^error:", words, re.MULTILINE | re.IGNORECASE)
    return words[found.start() :] if found else words


def is_contradiction(words: str) -> bool:
    """Whether an installer saw every package that was asked for, and found that they do not go
    together.
    """
    return CONTRADICTION in words and not any(each in " ".join(words.split()) for each in NOT_SEEN)
