"""The Chromium that the tests drive: Debian's, else Playwright's own."""

import os
import shutil
import subprocess
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import print_error, print_info
from dashboard.local.preflight import apt_install

NAMES = ("chromium", "google-chrome-stable", "google-chrome", "chromium-browser")
PRINT_PLAYWRIGHTS_PATH = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""


def find_or_install() -> Path | None:
    """A Chromium that starts, installed if need be; None, with an error line, without one."""
    chromium = system_chromium() or playwrights_chromium()
    if chromium:
        return chromium
    print_info("installing Chromium for the browser tests")
    _install()
    chromium = system_chromium() or playwrights_chromium()
    if not chromium:
        print_error(
            "the browser tests need Chromium, and none that starts is here: "
            "`sudo apt-get install -y chromium`, or set CHROMIUM to the path of one"
        )
    return chromium


def system_chromium() -> Path | None:
    """CHROMIUM, or the first Chromium on PATH, that starts."""
    configured = os.environ.get("CHROMIUM")
    candidates = [configured] if configured else map(shutil.which, NAMES)
    for path in candidates:
        if path and _starts(Path(path)):
            return Path(path)
    return None


def playwrights_chromium() -> Path | None:
    """The Chromium that Playwright has downloaded, if it starts."""
    process = subprocess.run(
        [project.VENV_PYTHON, "-c", PRINT_PLAYWRIGHTS_PATH],
        capture_output=True,
        text=True,
        check=False,
    )
    path = Path(process.stdout.strip() or "/nonexistent")
    return path if _starts(path) else None


def _install() -> None:
    is_root = os.geteuid() == 0
    release = Path("/etc/os-release")
    # Ubuntu's package is a snap, which needs a running snapd
    if is_root and release.exists() and "ID=debian" in release.read_text().splitlines():
        apt_install(["chromium"])
        return
    command = [str(project.VENV_PYTHON), "-m", "playwright", "install", "chromium"]
    if is_root:
        command.append("--with-deps")
    subprocess.run(command, check=False, stdin=subprocess.DEVNULL)


def _starts(path: Path) -> bool:
    """Test whether it can print its version: where a system library is missing it cannot."""
    try:
        process = subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0
