"""Folders of one job: private compiler caches, each begun as a copy of a toolchain base.

The first compilation on a machine also pays for one-time checks of the toolchain (which vector
instructions compile, the precompiled C++ header, Triton's launcher: 6 to 20 s). They are made once,
here, and every start gets the same copy, or they would drown the model's own compile time. The
precompiled header lies under the temporary folder, which therefore is the base's for every process
that compiles.
"""

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite.harness.environment import package_version

PACKAGE_PARENT = str(Path(__file__).parents[2])
UNUSED_DAYS = 30
_MARK = "toolchain.json"


class ToolchainError(RuntimeError):
    """The compilers on this machine do not work; the text is theirs, the last line first."""


@dataclass(frozen=True)
class CompilerCaches:
    """The two folders that decide whether a start is cold."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"),
            "TRITON_CACHE_DIR": str(self.folder / "triton"),
        }


@dataclass(frozen=True)
class Base:
    """The toolchain base of one torch build on one machine.

    It is made once, by the first job that needs it, and kept.
    """

    folder: Path

    @property
    def temporary_folder(self) -> Path:
        return self.folder / "tmp"

    @property
    def is_made(self) -> bool:
        return self._mark.exists()

    @property
    def toolchain_s(self) -> float:
        """Seconds that making it took."""
        return float(json.loads(self._mark.read_text())["toolchain_s"])

    def note_use(self) -> None:
        """Keeps it for another UNUSED_DAYS."""
        with suppress(OSError):  # caches that this account may only read
            os.utime(self._mark)

    @property
    def _mark(self) -> Path:
        return self.folder / _MARK

    def copied_to(self, folder: Path) -> CompilerCaches:
        """Fresh caches that hold the base and nothing else."""
        for name in ("inductor", "triton"):
            shutil.copytree(self.folder / name, folder / name)
        return CompilerCaches(folder)


def base(device: str, wrapper: str = "python") -> Base:
    """The base for this interpreter's torch, made now if it is the first time.

    wrapper: what the compiler writes the kernels' calls in, "python", "cpp" or "aot": each
        precompiles other headers.
    Raises ToolchainError.
    """
    base = place(device, os.environ, wrapper)
    if not base.is_made:
        _forget_unused()
        _make(base.folder, device, wrapper)
    base.note_use()
    return base


def place(device: str, variables: Mapping[str, str], wrapper: str) -> Base:
    """Locate that base, made or not, for a process with these environment variables.

    Its temporary folder exists.
    """
    base = Base(cache_home() / f"toolchain-{_key(device, variables, wrapper)}")
    base.temporary_folder.mkdir(parents=True, exist_ok=True)
    return base


def _make(folder: Path, device: str, wrapper: str) -> None:
    """Makes a base in place, because the header keeps its path; the mark that it is complete last.

    Raises ToolchainError.
    """
    for name in ("inductor", "triton", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    environment = {
        **child_environment(),
        **CompilerCaches(folder).environment,
        "TMPDIR": str(folder / "tmp"),
    }
    command = [sys.executable, "-m", "benchmarks_suite.harness.prepare_toolchain", device, wrapper]
    check = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if check.returncode:
        lines = check.stderr.strip().splitlines()[-20:]
        if check.returncode < 0:  # no exception, which would be the last line
            ended_by = signal.Signals(-check.returncode).name
            lines.append(f"the compilers' check was ended by {ended_by}")
        raise ToolchainError("\n".join(reversed(lines)) or f"exit code {check.returncode}")
    partial = folder / f"toolchain.{os.getpid()}.partial"
    partial.write_text(json.dumps({"toolchain_s": float(check.stdout.split()[-1])}))
    partial.replace(folder / _MARK)


def _forget_unused() -> None:
    """Removes what no job has used for long: each base takes 150 MB and more on a CPU."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for mark in cache_home().glob(f"toolchain-*/{_MARK}"):
        with suppress(FileNotFoundError):  # another process was quicker
            if mark.stat().st_mtime < oldest:
                shutil.rmtree(mark.parent, ignore_errors=True)


def empty(folder: Path) -> CompilerCaches:
    """Caches without a base, for a backend that calls no C++ or Triton compiler."""
    for name in ("inductor", "triton"):
        (folder / name).mkdir(parents=True)
    return CompilerCaches(folder)


def child_environment() -> dict[str, str]:
    """The environment variables for a child process.

    With them it finds this package wherever it is started, hashes as its siblings do, and says
    where it was when it crashes.
    """
    path = os.pathsep.join(filter(None, [PACKAGE_PARENT, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}


def cache_home() -> Path:
    """The first that can be written of COMPILEWATCH_CACHE, the user's cache and a temporary one."""
    parents: list[Path] = []
    parent = os.environ.get("COMPILEWATCH_CACHE") or os.environ.get("XDG_CACHE_HOME")
    if parent:
        parents.append(Path(parent))
    if os.environ.get("HOME"):
        parents.append(Path.home() / ".cache")
    for path in parents:
        folder = path / "compilewatch"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.gettempdir()) / f"compilewatch-{os.getuid()}"


def _key(device: str, variables: Mapping[str, str], wrapper: str) -> str:
    """Names what the checks depend on.

    The torch build, the interpreter, the processor and its flags, the compiler, and what it writes.
    """
    torch_version = package_version("torch")
    device_type = device.partition(":")[0]
    words = [
        torch_version,
        sys.prefix,
        sys.version,
        _processor_flags(),
        variables.get("CXX", ""),
        device_type,
    ]
    if wrapper != "python":
        words.append(wrapper)
    digest = hashlib.sha256("\n".join(map(str, words)).encode()).hexdigest()[:12]
    return f"{torch_version}-{device_type}-{digest}"


def _processor_flags() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("flags")), "")
