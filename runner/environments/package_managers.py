"""The two installers as commands: uv, and pip where uv cannot do it.

uv is fast and shares its files between environments.
"""

import json
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from runner.environments.package_sources import PackageSources


@dataclass(frozen=True)
class Uv:
    """uv. cache: its folder of unpacked wheels, which it links into each environment."""

    program: str
    cache: Path
    name: str = "uv"

    def create_venv(self, folder: Path) -> list[str]:
        options = ["--quiet", "--python", sys.executable, "--no-project"]
        return [*self._uv("venv"), *options, str(folder)]

    def resolve(
        self, packages: Path, limits: Path, answer: Path, folder: Path, sources: PackageSources
    ) -> list[str]:
        """Write the pinned set for what the file `packages` lists to the file `answer`.

        limits: a file of versions that count for what is needed.
        """
        options = ["--quiet", "--no-header", "--no-annotate", "--no-build"]
        options += ["--python", sys.executable, *sources.uv_options()]
        files = ["--constraint", str(limits), "--output-file", str(answer)]
        return [*self._uv("pip", "compile"), *options, *files, str(packages)]

    def read_resolved(self, answer: Path) -> str:
        return answer.read_text()

    def install(self, requirements: Path, folder: Path, sources: PackageSources) -> list[str]:
        options = ["--python", str(folder / "bin" / "python"), "--no-deps", "--no-build"]
        options += ["--link-mode", "hardlink", *sources.uv_options()]
        return [*self._uv("pip", "install"), *options, "--requirements", str(requirements)]

    def clean_cache(self) -> list[str]:
        """Empty the cache; the environments keep their files."""
        return self._uv("cache", "clean", "--quiet")

    def _uv(self, *words: str) -> list[str]:
        return [self.program, *words, "--no-progress", "--cache-dir", str(self.cache)]


@dataclass(frozen=True)
class Pip:
    """pip: ours, working on another environment, which then needs none."""

    name: str = "pip"

    def create_venv(self, folder: Path) -> list[str]:
        return [sys.executable, "-I", "-m", "venv", "--without-pip", "--clear", str(folder)]

    def resolve(
        self, packages: Path, limits: Path, answer: Path, folder: Path, sources: PackageSources
    ) -> list[str]:
        """As Uv's. pip downloads the wheels to learn what they need, and keeps them to install."""
        options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:"]
        options += ["--report", str(answer), *sources.pip_options()]
        files = ["--constraint", str(limits), "--requirement", str(packages)]
        return [*self._pip_install(folder), *options, *files]

    def read_resolved(self, answer: Path) -> str:
        report = json.loads(answer.read_text())
        lines = []
        for package in report["install"]:
            about = package["metadata"]
            lines.append(f"{about['name'].lower()}=={about['version']}\n")
        return "".join(sorted(lines))

    def install(self, requirements: Path, folder: Path, sources: PackageSources) -> list[str]:
        options = ["--no-deps", "--only-binary", ":all:", "--no-compile", *sources.pip_options()]
        return [*self._pip_install(folder), *options, "--requirement", str(requirements)]

    def _pip_install(self, folder: Path) -> list[str]:
        python = str(folder / "bin" / "python")
        pip = [sys.executable, "-I", "-m", "pip", "--python", python, "--no-input"]
        return [*pip, "install", "--quiet", "--disable-pip-version-check"]


PackageManager = Uv | Pip


def find_package_managers(environments: Path) -> list[PackageManager]:
    """The installers of this computer, the better one first.

    uv's cache is next to the environments, on the disk on which it can link, unless UV_CACHE_DIR
    names another.
    """
    managers: list[PackageManager] = []
    program = _uv_program()
    if program:
        cache = os.environ.get("UV_CACHE_DIR") or environments / ".cache"
        managers.append(Uv(program, Path(cache)))
    # The metadata, and not a look for the module: that would make setuptools stand back from
    # distutils in this process
    with suppress(metadata.PackageNotFoundError):
        metadata.distribution("pip")
        managers.append(Pip())
    return managers


def _uv_program() -> str:
    """uv's path: of the package next to us, or of the machine; empty where there is none."""
    try:
        import uv

        return uv.find_uv_bin()
    except (ImportError, FileNotFoundError):
        return shutil.which("uv") or ""
