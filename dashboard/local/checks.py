"""The checks of `make lint` and the tests: style, types, imports, migrations, Django's deploy."""

import os
import subprocess
from collections.abc import Mapping

from dashboard.local import project

BIN = project.VENV / "bin"
MANAGE = (
    str(project.VENV_PYTHON),
    "-W",
    "ignore:Got an error checking a consistent migration",
    "manage.py",
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "style": (str(BIN / "ruff"), "check", "--no-cache", "."),
    "types": (str(BIN / "mypy"), "--no-error-summary"),
    "imports": (str(BIN / "lint-imports"), "--no-cache"),
    "migrations": (*MANAGE, "makemigrations", "--check", "--dry-run"),
    "deploy": (*MANAGE, "check", "--deploy", "--fail-level", "WARNING"),
}
# A site in production, with servers that nobody connects to: these checks read code and settings.
PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    "SECRET_KEY": "for-checks-only-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
    "DATABASE_URL": "postgresql://nobody@/none?host=/nonexistent",
    "BROKER_URL": "redis+socket:///nonexistent/broker.sock",
    "SITE_URL": "https://compilewatch.example.org",
    "DEBUG": "false",
    "PUBLIC_READ": "false",
}


def run(name: str, environment: Mapping[str, str] = os.environ) -> subprocess.CompletedProcess[str]:
    """Run one check at the top of the checkout; its output says what to fix when it fails."""
    return subprocess.run(
        COMMANDS[name],
        cwd=project.ROOT,
        env={**environment, **PRODUCTION},
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
