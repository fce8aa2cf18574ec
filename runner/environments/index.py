"""Where packages come from: PACKAGE_INDEX_URL, or what pip is configured with on this machine, told
to uv as well.
"""

import ast
import subprocess
import sys
from dataclasses import dataclass, field, replace
from functools import cache

PATIENCE_S = 60


@dataclass(frozen=True)
class Index:
    """url: the main index, empty for the tool's own; more: further ones; find_links: folders or
    pages of wheels.
    """

    url: str = ""
    more: tuple[str, ...] = ()
    find_links: tuple[str, ...] = field(default=())

    def beside(self, url: str) -> "Index":
        """This one, and `url` where that is not empty."""
        return replace(self, more=(*self.more, url)) if url else self

    def for_uv(self) -> list[str]:
        """Options of uv. Of one version on several indexes the best wheel counts, as with pip."""
        options = ["--default-index", self.url] if self.url else []
        for each in self.more:
            options += ["--index", each]
        for each in self.find_links:
            options += ["--find-links", each]
        return [*options, "--index-strategy", "unsafe-best-match"]

    def for_pip(self) -> list[str]:
        """Options of pip."""
        options = ["--index-url", self.url] if self.url else []
        for each in self.more:
            options += ["--extra-index-url", each]
        for each in self.find_links:
            options += ["--find-links", each]
        return options


def configured(package_index_url: str) -> Index:
    """The index of the setting; without it everything that pip is configured with."""
    return Index(package_index_url) if package_index_url else pips()


@cache
def pips() -> Index:
    """What pip's files and environment variables name. Empty where there is no pip."""
    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=PATIENCE_S
        )
    except (OSError, subprocess.SubprocessError):
        return Index()
    found: dict[str, tuple[str, ...]] = {}
    for line in sorted(done.stdout.splitlines(), key=lambda line: not line.startswith("global.")):
        name, _, value = line.partition("=")
        found[name.rpartition(".")[2]] = tuple(str(ast.literal_eval(value)).split())
    return Index(
        "".join(found.get("index-url", ())),
        found.get("extra-index-url", ()),
        found.get("find-links", ()),
    )
