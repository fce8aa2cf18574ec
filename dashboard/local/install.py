"""`.venv`: made, filled with what is pinned, repaired after an interruption, left when complete.

These parts are installed, each skipped while its stamp says that it is there: `requirements.txt`
(by hash), torch (its CPU and CUDA builds share a version and differ in hash, so it stays outside
the hashed lock: pip compares it with the hash that its index gives), and for the tests
`tests/requirements.txt` and, in a folder of its own, `tests/field.txt`. pip does it, because pip's
configuration on the machine (a mirror, a folder of wheels) has to count.

One process at a time installs: two would take each other's unfinished packages for broken ones.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import print_error, print_info

STAMPS = project.VENV / "installed.json"
# Lines of pip's output that are worth showing in a log
PROGRESS = ("Downloading", "Processing", "Installing collected", "Uninstalling")
# Disk space, with room for pip's temporary files
CUDA_GB, CPU_GB, COMPLETE_GB = 10.0, 4.0, 1.0


def install(*, with_tests: bool) -> bool:
    """Bring `.venv` to what is pinned; whether that worked. Milliseconds when nothing changed."""
    _report_ignored_python()
    if missing_parts(with_tests=with_tests):
        with _alone():
            # Whoever was before us may have installed it
            if not _install(missing_parts(with_tests=with_tests)):
                return False
    _write_command()
    return True


def _report_ignored_python() -> None:
    """PYTHON=… of make chooses the Python of a new `.venv` alone."""
    here = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for folder in (project.VENV / "lib").glob("python3.*"):
        if os.environ.get("PYTHON") and folder.name != here:
            print_info(
                f"{project.VENV} has {folder.name} and keeps it, PYTHON is {here}: remove that "
                "folder to change it"
            )


def _install(missing: Sequence[str]) -> bool:
    """Install these parts; whether that worked."""
    if not missing:
        return True
    began = time.monotonic()
    if not venv_works() and not _make_venv():
        return False
    site_packages = next((project.VENV / "lib").glob("python3.*/site-packages"))
    for package in remove_unfinished_packages(site_packages):
        print_info(f"removing {package}, whose installation was interrupted")
    for part in missing:
        if not _install_part(part):
            return False
    print_info(f"installed in {time.monotonic() - began:.0f} s")
    return True


def missing_parts(*, with_tests: bool) -> list[str]:
    """The parts of `.venv` that are missing or out of date, in the order to install them in."""
    installed = _stamps() if venv_works() else {}
    parts = ["requirements", "torch"]
    if with_tests:
        parts += ["tests", "field"]
    return [part for part in parts if installed.get(part) != _required_stamp(part, installed)]


def required_disk_gb() -> float:
    """Free disk space that the installation needs, in GB."""
    if not missing_parts(with_tests=False):
        return COMPLETE_GB
    return CPU_GB if "cpu" in _torch_index() else CUDA_GB


def venv_works() -> bool:
    """Test whether the Python and pip of `.venv` start: a system upgrade can remove either."""
    command = [str(project.VENV_PYTHON), "-I", "-c", "import pip"]
    try:
        process = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return False
    return process.returncode == 0


def remove_unfinished_packages(folder: Path) -> list[str]:
    """Remove the records of packages that pip did not finish, so that it installs them again.

    pip writes INSTALLER after the last file of a package, and renames what it is about to replace
    to `~…`. Returns the names.
    """
    unfinished = list(folder.glob("~*"))
    for path in folder.glob("*.dist-info"):
        if not (path / "INSTALLER").exists():
            unfinished.append(path)
    for path in unfinished:
        shutil.rmtree(path, ignore_errors=True)
    return sorted(path.name for path in unfinished)


def _write_command() -> None:
    """`.venv/bin/compilewatch`: the client of this checkout, which pip does not install."""
    command = project.VENV / "bin" / "compilewatch"
    text = (
        "#!/bin/sh\n"
        f'export PYTHONPATH="{project.ROOT}${{PYTHONPATH:+:$PYTHONPATH}}"\n'
        f'exec "{project.VENV_PYTHON}" -m compilewatch_client "$@"\n'
    )
    if not command.exists() or command.read_text() != text:
        command.write_text(text)
        command.chmod(0o755)


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until nobody else installs into `.venv`; the kernel ends the wait if they die."""
    with project.VENV.with_name(".venv.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print_info(f"another process installs into {project.VENV}: waiting until it is done")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_venv() -> bool:
    print_info(
        f"making the virtual environment {project.VENV} with Python {sys.version.split()[0]}"
    )
    command = [sys.executable, "-m", "venv", "--clear", str(project.VENV)]
    process = subprocess.run(command, check=False)
    return process.returncode == 0 or _failed("python -m venv")


def _install_part(part: str) -> bool:
    locked = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"]
    into_folder = ["--upgrade", "--target", str(project.FIELD_PACKAGES)]
    index = ["--index-url", _torch_index()] if _torch_index() else []
    arguments = {
        "requirements": [*locked, str(project.REQUIREMENTS)],
        "torch": [*index, "--only-binary", ":all:", f"torch=={project.torch_version()}"],
        "tests": [*locked, str(project.TEST_REQUIREMENTS)],
        "field": [*locked, str(project.FIELD_REQUIREMENTS), *into_folder],
    }
    description = {
        "requirements": "requirements.txt (Django, Celery, Postgres, Valkey, the model libraries)",
        "torch": f"torch {project.torch_version()}",
        "tests": "tests/requirements.txt",
        "field": "tests/field.txt (timm and torchvision)",
    }[part]
    print_info(f"installing {description}")
    # Another build of the same version would pass as installed
    if part == "torch" and part in _stamps():
        _pip("uninstall", "-y", "torch")
    if not _pip("install", *arguments[part]):
        return _failed(f"pip install of {description}")
    STAMPS.write_text(json.dumps({**_stamps(), part: _required_stamp(part, {})}))
    return True


def _pip(*arguments: str) -> bool:
    """Run pip in `.venv`; whether it worked. A terminal gets progress bars, a log a few lines."""
    command = [str(project.VENV_PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    if sys.stdout.isatty():
        return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode == 0
    process = subprocess.Popen(
        command,
        env={**os.environ, "PIP_PROGRESS_BAR": "off"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process as pip:
        for line in pip.stdout or ():
            if line.strip().startswith(PROGRESS):
                print_info(textwrap.shorten(line, 100, placeholder=" …"), name="pip", colour=None)
    return pip.returncode == 0


def _required_stamp(part: str, installed: dict[str, str]) -> str:
    """The stamp of `part` when it is up to date.

    TORCH_INDEX_URL counts at the time of installing: without one now, any installed build of this
    torch release will do.
    """
    files = {
        "requirements": project.REQUIREMENTS,
        "tests": project.TEST_REQUIREMENTS,
        "field": project.FIELD_REQUIREMENTS,
    }
    if part in files:
        return hashlib.sha256(files[part].read_bytes()).hexdigest()
    version = project.torch_version()
    has_version = installed.get("torch", "").split(" ")[0] == version
    if has_version and not _torch_index():
        return installed["torch"]
    return f"{version} {_torch_index()}"


def _stamps() -> dict[str, str]:
    try:
        return dict(json.loads(STAMPS.read_text()))
    except (OSError, ValueError):
        return {}


def _torch_index() -> str:
    return os.environ.get("TORCH_INDEX_URL", "")


def _failed(what: str) -> bool:
    print_error(
        f"{what} failed, see above. Check the network and the free disk space, then start again: "
        "what is complete is kept"
    )
    return False
