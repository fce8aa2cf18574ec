"""The tutorial as a new user follows it: its file and its commands, one after the other, to a confirmed alert."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.builders.local_site import ROOT, LocalSite, local_site

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
    assert "jobs cancelled" in said(folder, cancelling)
    names = dict(line.upper().split()[:1] + line.split()[1:] for line in reversed(said(folder, showing).splitlines()))
    wait_for(lambda: NAME in said(folder, f"{first} --dry-run", names))  # until the worker has told of it
    for command in (first, second):
        assert "jobs" in said(folder, command, names)
    wait_for(lambda: len(passed(site)) == 4)
    names["VARIANT"] = said(folder, varying, names).strip()
    assert "jobs" in said(folder, breaking, names)
    wait_for(lambda: re.search(r'href="/alerts/\d+/"', alerts(site)) is not None)
    assert "fail_accuracy" in alerts(site)


def said(folder: Path, command: str, names: dict[str, str] | None = None) -> str:
    """What a command of the page prints, with the names filled in that the page leaves open."""
    for name, value in (names or {}).items():
        command = command.replace(name, value)
    variables = {**os.environ, "VAR_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    inside = folder if "benchmarks_suite" in command else ROOT
    words = ["bash", "-c", f"{sys.executable} {command}"]
    return subprocess.run(words, cwd=inside, env=variables, capture_output=True, text=True, check=False).stdout


def passed(site: LocalSite) -> list[str]:
    answer = httpx.get(f"{site.url}/export/data.jsonl", params={"benchmark": NAME, "metric": "passed"})
    return answer.text.splitlines()


def alerts(site: LocalSite) -> str:
    """The inbox of what is confirmed."""
    return httpx.get(f"{site.url}/alerts/", params={"state": "confirmed"}).text


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(2)
