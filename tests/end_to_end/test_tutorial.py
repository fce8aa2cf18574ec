"""The tutorial as a new user follows it: its file and its commands, one after the other, to a
confirmed alert.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.builders.local_site import OURS, ROOT, LocalSite, local_site

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(3600)]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
MODEL = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
COMMANDS = re.findall(r"^\.venv/bin/python (.*)$", PAGE, re.MULTILINE)
NAME = "detector.own.inference.float32.static.b16"
PATIENCE_S = 2400


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="compilewatch-tutorial-") as name:
        Path(name).chmod(0o755)  # under root, Postgres runs as another account, which has to get in
        (Path(name) / "my_model.py").write_text(MODEL)
        yield Path(name)


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[LocalSite]:
    with local_site(folder, WORKER_MODELS=str(folder / "my_model.py")) as running:
        yield running


def test_the_tutorial_ends_with_a_confirmed_alert(site: LocalSite, folder: Path) -> None:
    listing, running, cancelling, showing, first, second, varying, breaking = COMMANDS
    assert NAME in said(folder, listing)
    assert f"{NAME}  inductor: pass" in said(folder, running)
    assert "cancelled" in said(folder, cancelling)
    names = dict(
        line.upper().split()[:1] + line.split()[1:]
        for line in reversed(said(folder, showing).splitlines())
    )
    # From hello
    wait_for(
        lambda: NAME in httpx.get(f"{site.url}/api/v1/benchmarks", params={"page_size": 1000}).text
    )
    for command in (first, second):
        assert "job" in said(folder, command, names)
    wait_for(lambda: len(passed(site)) == 4)
    names["VARIANT"] = said(folder, varying, names).strip()
    assert "job" in said(folder, breaking, names)
    wait_for(lambda: len(confirmed(site)) == 1)
    assert confirmed(site)[0]["cause"] == "compiler"


def said(folder: Path, command: str, names: dict[str, str] | None = None) -> str:
    """Run a command of the page, with the names it leaves open filled in; return its output."""
    for name, value in (names or {}).items():
        command = command.replace(name, value)
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    variables = {**inherited, "VAR_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    inside = folder if "benchmarks_suite" in command else ROOT
    words = ["bash", "-c", f"{sys.executable} {command}"]
    done = subprocess.run(
        words, cwd=inside, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def passed(site: LocalSite) -> list[str]:
    answer = httpx.get(
        f"{site.url}/export/data.jsonl", params={"benchmark": NAME, "metric": "passed"}
    )
    return answer.text.splitlines()


def confirmed(site: LocalSite) -> list[dict[str, Any]]:
    """List the alerts that the inbox shows as confirmed."""
    answer = httpx.get(f"{site.url}/api/v1/alerts", params={"state": "confirmed"})
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(2)
