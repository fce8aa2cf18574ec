"""The two installers as commands: uv, which is fast and shares its files between environments, and
pip behind it.
"""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from runner.environments.index import Index


@dataclass(frozen=True)
class Uv:
    """uv. cache: its folder of unpacked wheels, which it links into each environment."""

    program: str
    cache: Path
    name: str = "uv"

    def venv(self, folder: Path) -> list[str]:
        return [
            *self._uv("venv"),
            "--quiet",
            "--python",
            sys.executable,
            "--no-project",
            str(folder),
        ]

    def resolve(self, asked: Path, answer: Path, folder: Path, index: Index) -> list[str]:
        """Write the pinned set for what the file `asked` lists to the file `answer`."""
        options = [
            "--quiet",
            "--no-header",
            "--no-annotate",
            "--no-build",
            "--python",
            sys.executable,
        ]
        return [
            *self._uv("pip", "compile"),
            *options,
            *index.for_uv(),
            "--output-file",
            str(answer),
            str(asked),
        ]

    def read(self, answer: Path) -> str:
        return answer.read_text()

    def install(self, requirements: Path, folder: Path, index: Index) -> list[str]:
        options = ["--no-deps", "--no-build", "--compile-bytecode", "--link-mode", "hardlink"]
        where = ["--python", str(folder / "bin" / "python")]
        return [
            *self._uv("pip", "install"),
            *where,
            *options,
            *index.for_uv(),
            "--requirements",
            str(requirements),
        ]

    def clean(self) -> list[str]:
        """Empty the cache; the environments keep their files."""
        return self._uv("cache", "clean", "--quiet")

    def _uv(self, *words: str) -> list[str]:
        return [self.program, *words, "--no-progress", "--cache-dir", str(self.cache)]


@dataclass(frozen=True)
class Pip:
    """pip: ours, working on another environment, which then needs none."""

    name: str = "pip"

    def venv(self, folder: Path) -> list[str]:
        return [sys.executable, "-I", "-m", "venv", "--without-pip", "--clear", str(folder)]

    def resolve(self, asked: Path, answer: Path, folder: Path, index: Index) -> list[str]:
        """As Uv's. pip downloads the wheels to learn what they need, and keeps them for the
        installation.
        """
        options = [
            "--dry-run",
            "--ignore-installed",
            "--only-binary",
            ":all:",
            "--report",
            str(answer),
        ]
        return [*self._pip(folder), *options, *index.for_pip(), "--requirement", str(asked)]

    def read(self, answer: Path) -> str:
        found = [each["metadata"] for each in json.loads(answer.read_text())["install"]]
        return "".join(sorted(f"{each['name'].lower()}=={each['version']}\n" for each in found))

    def install(self, requirements: Path, folder: Path, index: Index) -> list[str]:
        options = ["--no-deps", "--only-binary", ":all:", "--compile"]
        return [*self._pip(folder), *options, *index.for_pip(), "--requirement", str(requirements)]

    def _pip(self, folder: Path) -> list[str]:
        pip = [
            sys.executable,
            "-I",
            "-m",
            "pip",
            "--python",
            str(folder / "bin" / "python"),
            "--no-input",
        ]
        return [*pip, "install", "--quiet", "--disable-pip-version-check"]


Tool = Uv | Pip


def find_tools(environments: Path) -> list[Tool]:
    """The installers of this computer, the better one first.

    uv's cache lies beside the environments, on the disk on which it can link, unless UV_CACHE_DIR
    names another.
    """
    program = _uv_program()
    uv = (
        [Uv(program, Path(os.environ.get("UV_CACHE_DIR") or environments / ".cache"))]
        if program
        else []
    )
    return [*uv, *([Pip()] if _pip_is_here() else [])]


def _pip_is_here() -> bool:
    """Asked of the metadata: a look for the module makes setuptools stand back from distutils in
    this process.
    """
    try:
        metadata.distribution("pip")
    except metadata.PackageNotFoundError:
        return False
    return True


def _uv_program() -> str:
    """uv's path: of the package beside us, or of the machine; empty where there is none."""
    try:
        import uv

        return uv.find_uv_bin()
    except (ImportError, FileNotFoundError):
        return shutil.which("uv") or ""
