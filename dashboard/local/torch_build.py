"""Facts about the installed torch, read from its files: importing it takes seconds."""

import importlib.metadata
import importlib.util
import platform
import runpy
from pathlib import Path

from dashboard.local.embedded import ServerError


def installed() -> dict[str, object]:
    """The build as a worker's hello describes it. Raises ServerError without an installed torch."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ServerError("torch is not installed in .venv: remove .venv and run `make up` again")
    version = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    try:
        triton = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        triton = ""
    return {
        "label": version["__version__"],
        # To install it by: on PyPI without the label's +cu130
        "version": importlib.metadata.version("torch"),
        "git_sha": version.get("git_version") or "",
        "cuda": version.get("cuda") or "",
        "triton": triton,
        "python": platform.python_version(),
        "adopted": True,
    }
