"""docs/findings: a script says of the torch at hand what the table on its page says of it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
PAGES = sorted(FOLDER.glob("*.md"))
NAMES = torch.__version__, torch.__version__.partition("+")[0]
# Scripts know torch and transformers alone, whose versions are pinned. These take seconds
ON_EACH_RUN = (
    *("attention-dropout", "cublas-workspace", "launch-choice", "loop-reindexing"),
    "reduction-layout",
)


def parameters() -> list[Any]:
    """All pages, those whose script takes longer for `make test-slow` alone."""
    marks = {page: () if page.stem in ON_EACH_RUN else (pytest.mark.slow,) for page in PAGES}
    return [pytest.param(page, id=page.stem, marks=marks[page]) for page in PAGES]


def script_of(page: Path) -> Path:
    return page.with_name(f"{page.stem.replace('-', '_')}.py")


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every table row of a page."""
    rows = []
    for line in re.findall(r"^\|(.*)\|$", page.read_text(), re.MULTILINE):
        rows.append([cell.strip() for cell in line.split("|")])
    return rows


def test_every_page_has_its_script() -> None:
    scripts = {path.name for path in FOLDER.glob("*.py")}
    assert {script_of(page).name for page in PAGES} == scripts


def test_every_page_begins_with_five_lines() -> None:
    heads = {page.name: [row[0] for row in rows_of(page)[2:7]] for page in PAGES}
    five = ["what", "since", "costs", "workaround", "upstream"]
    assert {name: head for name, head in heads.items() if head != five} == {}


@pytest.mark.compiles
@pytest.mark.parametrize("page", parameters())
def test_script_says_of_this_torch_what_its_page_says(page: Path, tmp_path: Path) -> None:
    # Of this build, if there is a row of it
    of_names = [[row for row in rows_of(page) if row[0] == f"{name}, CPU"] for name in NAMES]
    [row] = next(filter(None, of_names))
    run = subprocess.run(
        [sys.executable, str(script_of(page))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "verdict: " in run.stdout, run.stderr
    assert str(run.returncode) == row[1]
