"""Paths in this checkout, and what pyproject.toml says about the machine's needs."""

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements.txt"
TEST_REQUIREMENTS = ROOT / "tests" / "requirements.txt"
# Of the tests of the field's own models: a torchvision for CUDA is in nobody else's sight
FIELD_REQUIREMENTS = ROOT / "tests" / "field.txt"
FIELD_PACKAGES = VENV / "field"


def var_dir() -> Path:
    """VAR_DIR, where all data lie; `var/` in the checkout by default."""
    return Path(os.environ.get("VAR_DIR") or ROOT / "var").resolve()


def port() -> int:
    """PORT, the site's port on 127.0.0.1. Ends with a message when it is not a port number."""
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise SystemExit(
            f"PORT is {text!r}: set it to a number from 1 to 65535, as in `make up PORT=8001`"
        )
    return int(text)


def torch_version() -> str:
    """The torch release that `make up` installs."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["tool"]["compilewatch"]["torch"])
