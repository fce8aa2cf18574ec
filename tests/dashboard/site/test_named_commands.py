"""Every command that a message, page or document names in code exists."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from benchmarks_suite.commands import COMMANDS
from compilewatch_client.commands import SUBCOMMANDS

ROOT = Path(__file__).parents[3]
FOLDERS = ("benchmarks_suite", "compilewatch_client", "dashboard", "docker", "docs", "runner")
WRITTEN = (".py", ".html", ".txt", ".md", ".js", ".sh", ".yaml", ".example")
FILES = [
    *ROOT.glob("*.md"),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in WRITTEN),
]
IN_CODE = r"(?:`|<code>|<pre>|\$ |\.venv/bin/)(?:[A-Z_]+=\S+ )*"
TARGETS = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("program", "existing"),
    [
        (rf"{IN_CODE}make", TARGETS),
        (r"(?:`|<code>|python |run )manage\.py", get_commands()),
        (rf"{IN_CODE}compilewatch", SUBCOMMANDS),
        (r"-m benchmarks_suite", COMMANDS),
    ],
)
def test_every_command_that_a_text_names_exists(program: str, existing: list[str]) -> None:
    missing = []
    for path in FILES:
        names = re.findall(rf"{program} ([a-z][a-z_-]+)", path.read_text())
        missing += [f"{path.relative_to(ROOT)}: {name}" for name in names if name not in existing]
    assert missing == []
