"""The Chromium that the tests drive: Debian's, else Playwright's own."""

import os
import shutil
import subprocess
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import complain, say
from dashboard.local.preflight import apt_install

NAMES = ("chromium", "google-chrome-stable", "google-chrome", "chromium-browser")


def find_or_install() -> Path | None:
    """A Chromium that starts, installed if need be; None, with one line that says what is
    missing.
    """
    found = system_chromium() or playwrights_chromium()
    if found:
        return found
    say("installing Chromium for the browser tests")
    # Ubuntu's package is a snap, which needs a running snapd
    if os.geteuid() == 0 and _is_debian():
        apt_install(["chromium"])
    else:
        _playwright("install", *(["--with-deps"] if os.geteuid() == 0 else []), "chromium")
    found = system_chromium() or playwrights_chromium()
    if not found:
        complain(
            "the browser tests need Chromium, and none that starts is here: "
            "`sudo apt-get install -y chromium`, or set CHROMIUM to the path of one"
        )
    return found


def system_chromium() -> Path | None:
    """CHROMIUM, or the first Chromium on PATH, that starts."""
    given = os.environ.get("CHROMIUM")
    candidates = [given] if given else [path for name in NAMES if (path := shutil.which(name))]
    return next((Path(path) for path in candidates if _starts(Path(path))), None)


def playwrights_chromium() -> Path | None:
    """The Chromium that Playwright has downloaded, if it starts."""
    code = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as playwright: print(playwright.chromium.executable_path)"
    )
    asked = subprocess.run(
        [project.VENV_PYTHON, "-c", code], capture_output=True, text=True, check=False
    )
    path = Path(asked.stdout.strip() or "/nonexistent")
    return path if _starts(path) else None


def _starts(path: Path) -> bool:
    """Whether it gets as far as printing its version: a missing system library stops it before."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _playwright(*arguments: str) -> None:
    command = [str(project.VENV_PYTHON), "-m", "playwright", *arguments]
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL)


def _is_debian() -> bool:
    release = Path("/etc/os-release")
    return release.exists() and "ID=debian" in release.read_text().splitlines()
