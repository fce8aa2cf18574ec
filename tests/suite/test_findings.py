"""docs/findings: a script says of the torch at hand what the table on its page says of it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "docs" / "findings"
PAGES = sorted(FOLDER.glob("*.md"))
NAMES = torch.__version__, torch.__version__.partition("+")[0]
PRINTED = {  # scripts that make a table, and the page that has it
    "recorded_attention.py": "attention-dropout.md",
    "recorded_guards.py": "module-guards.md",
    "recorded_launches.py": "launch-choice.md",
    "recorded_masks.py": "attention-mask.md",
    "recorded_reductions.py": "reduction-layout.md",
}


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
    assert {script_of(page).name for page in PAGES} | PRINTED.keys() == scripts


@pytest.mark.compiles
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
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


@pytest.mark.parametrize("script", PRINTED)
def test_recorded_table_is_current(script: str) -> None:
    command = [sys.executable, str(FOLDER / script)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout in (FOLDER / PRINTED[script]).read_text()
