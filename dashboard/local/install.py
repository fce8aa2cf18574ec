"""`.venv`: made, filled with what is pinned, repaired after an interruption, left alone when it is
complete.

Three parts are installed, each skipped while its stamp says that it is there: `requirements.txt`
(by hash), torch (its CPU and CUDA builds share a version and differ in hash, so it stays outside
the hashed lock), and
`tests/requirements.txt` for the tests. pip does it, because pip's configuration on the machine (a
    mirror, a
folder of wheels) has to count.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import complain, say

STAMPS = project.VENV / "installed.json"
NEWS = ("Downloading", "Processing", "Installing collected", "Uninstalling")  # of what pip prints
# Disk taken by each, with room for pip's temporary files
CUDA_GB, CPU_GB, COMPLETE_GB = 10.0, 4.0, 1.0


def install(*, with_tests: bool) -> bool:
    """Bring `.venv` to what is pinned; whether it is. Takes milliseconds when nothing has
    changed.
    """
    missing = missing_parts(with_tests=with_tests)
    if not missing:
        return True
    began = time.monotonic()
    if not venv_works() and not _make_venv():
        return False
    for step in remove_halves(site_packages()):
        say(f"removing {step}, whose installation was interrupted")
    for part in missing:
        if not _install_part(part):
            return False
    say(f"installed in {time.monotonic() - began:.0f} s")
    return True


def missing_parts(*, with_tests: bool) -> list[str]:
    """The parts of `.venv` that are not as wanted, in the order in which they are to be
    installed.
    """
    there = _stamps() if venv_works() else {}
    parts = ["requirements", "torch", *(["tests"] if with_tests else [])]
    return [part for part in parts if there.get(part) != _wanted(part, there)]


def needed_gb() -> float:
    """Free disk space that has to be there before we begin, in GB."""
    if not missing_parts(with_tests=False):
        return COMPLETE_GB
    return CPU_GB if "cpu" in _torch_index() else CUDA_GB


def venv_works() -> bool:
    """Whether `.venv` has a Python of its own version and pip: a system's upgrade can take either
    away.
    """
    code = "import sys, pip; print(sys.version_info[1])"
    try:
        done = subprocess.run(
            [project.VENV_PYTHON, "-I", "-c", code], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def site_packages() -> Path:
    """Where pip puts packages in `.venv`."""
    return next((project.VENV / "lib").glob("python3.*/site-packages"))


def remove_halves(folder: Path) -> list[str]:
    """Remove the records of packages that pip did not finish, so that it installs them again; their
    names.

    pip writes INSTALLER after the last file of a package, and renames what it is about to replace
    to `~…`.
    """
    halves = [path for path in folder.glob("*.dist-info") if not (path / "INSTALLER").exists()]
    halves += folder.glob("~*")
    for path in halves:
        shutil.rmtree(path, ignore_errors=True)
    return sorted(path.name for path in halves)


def _make_venv() -> bool:
    say(f"making the virtual environment {project.VENV} with Python {sys.version.split()[0]}")
    done = subprocess.run([sys.executable, "-m", "venv", "--clear", str(project.VENV)], check=False)
    return done.returncode == 0 or _failed("python -m venv")


def _install_part(part: str) -> bool:
    locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"]
    index = ["--index-url", _torch_index()] if _torch_index() else []
    commands = {
        "requirements": ["install", *locked, str(project.REQUIREMENTS)],
        "torch": ["install", *index, f"torch=={project.torch_version()}"],
        "tests": ["install", *locked, str(project.TEST_REQUIREMENTS)],
    }
    say(f"installing {_described(part)}")
    # Another build of the same version would pass as installed
    if part == "torch" and part in _stamps():
        _pip("uninstall", "-y", "torch")
    if not _pip(*commands[part]):
        return _failed(f"pip install of {_described(part)}")
    STAMPS.write_text(json.dumps({**_stamps(), part: _wanted(part, {})}))
    return True


def _described(part: str) -> str:
    texts = {
        "requirements": "requirements.txt (Django, Celery, Postgres, Valkey, the model libraries)",
        "torch": f"torch {project.torch_version()}",
        "tests": "tests/requirements.txt",
    }
    return texts[part]


def _pip(*arguments: str) -> bool:
    """Run pip in `.venv`; whether it worked. A terminal gets its progress bars, a log what it
    downloads.
    """
    command = [str(project.VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    if sys.stdout.isatty():
        return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode == 0
    quiet = {**os.environ, "PIP_PROGRESS_BAR": "off"}
    with subprocess.Popen(
        command, env=quiet, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as pip:
        for line in pip.stdout or ():
            if line.strip().startswith(NEWS):
                say(textwrap.shorten(line, 100, placeholder=" …"), name="pip", colour=None)
    return pip.returncode == 0


def _wanted(part: str, there: dict[str, str]) -> str:
    """What the stamp of `part` holds when the part is as wanted.

    An index is a wish at the time of installing: without one now, whatever build of torch is there
    will do.
    """
    files = {"requirements": project.REQUIREMENTS, "tests": project.TEST_REQUIREMENTS}
    if part in files:
        return hashlib.sha256(files[part].read_bytes()).hexdigest()
    version = project.torch_version()
    has_version = there.get("torch", "").split(" ")[0] == version
    return there["torch"] if has_version and not _torch_index() else f"{version} {_torch_index()}"


def _stamps() -> dict[str, str]:
    try:
        return dict(json.loads(STAMPS.read_text()))
    except (OSError, ValueError):
        return {}


def _torch_index() -> str:
    return os.environ.get("TORCH_INDEX_URL", "")


def _failed(what: str) -> bool:
    complain(
        f"{what} failed, see above. Check the network and the free disk space, then start again: "
        "what is complete is kept"
    )
    return False
