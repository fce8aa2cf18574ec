"""Sources of packages: PACKAGE_INDEX_URL, or what pip is configured with on this machine.

uv uses what pip is configured with, too.
"""

import ast
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from typing import Self

PATIENCE_S = 60


@dataclass(frozen=True)
class PackageSources:
    """The indexes that packages come from.

    index_url: the main index, empty for the tool's own; extra_index_urls: further ones;
    find_links: folders or pages of wheels.
    """

    index_url: str = ""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()

    def with_index(self, url: str) -> Self:
        """These sources and the index `url`, unless that is empty."""
        if not url:
            return self
        return replace(self, extra_index_urls=(*self.extra_index_urls, url))

    def uv_options(self) -> list[str]:
        """List the options; of one version on several indexes, the best wheel counts, as in pip."""
        options = self._options("--default-index", "--index")
        return [*options, "--index-strategy", "unsafe-best-match"]

    def pip_options(self) -> list[str]:
        return self._options("--index-url", "--extra-index-url")

    def _options(self, index: str, extra_index: str) -> list[str]:
        options = []
        if self.index_url:
            options += [index, self.index_url]
        for url in self.extra_index_urls:
            options += [extra_index, url]
        for place in self.find_links:
            options += ["--find-links", place]
        return options


def configured_sources(package_index_url: str) -> PackageSources:
    """The index of the setting; without it everything that pip is configured with."""
    if package_index_url:
        return PackageSources(package_index_url)
    return pip_sources()


@cache
def pip_sources() -> PackageSources:
    """Read the sources in pip's files and environment variables. Empty where there is no pip."""
    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
    except (OSError, subprocess.SubprocessError):
        return PackageSources()
    # Later lines win: what is set globally counts least
    lines = sorted(process.stdout.splitlines(), key=lambda line: not line.startswith("global."))
    options: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        options[option] = tuple(str(ast.literal_eval(value)).split())
    return PackageSources(
        index_url="".join(options.get("index-url", ())),
        extra_index_urls=options.get("extra-index-url", ()),
        find_links=options.get("find-links", ()),
    )
