"""Folders of one job: private compiler caches, each begun as a copy of a prepared base.

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
    """The compilers on this machine do not work; the text is what they said, the last line
    first.
    """


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
    """The prepared base of one torch build on one machine: made once, by the first job that needs
    it, and kept.
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
        """What making it took."""
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
    """The base for this interpreter's torch, made now if it is the first time. Raises
    ToolchainError.

    wrapper: what the compiler writes the kernels' calls in, "python", "cpp" or "aot": each
        precompiles other headers.
    """
    found = place(device, os.environ, wrapper)
    if not found.is_made:
        _forget_unused()
        _make(found.folder, device, wrapper)
    found.note_use()
    return found


def place(device: str, variables: Mapping[str, str], wrapper: str) -> Base:
    """Where that base is, or will be, for a process with these environment variables. Its temporary
    folder exists.
    """
    found = Base(cache_home() / f"toolchain-{_key(device, variables, wrapper)}")
    found.temporary_folder.mkdir(parents=True, exist_ok=True)
    return found


def _make(folder: Path, device: str, wrapper: str) -> None:
    """Prepares in place, because the header keeps its path; the mark of completeness is written
    last.
    """
    for name in ("inductor", "triton", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    environment = {
        **child_environment(),
        **CompilerCaches(folder).environment,
        "TMPDIR": str(folder / "tmp"),
    }
    command = [sys.executable, "-m", "benchmarks_suite.harness.prepare_toolchain", device, wrapper]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-20:]
        if done.returncode < 0:  # no exception, which would be the last line
            said.append(
                f"the compilers' check was ended by {signal.Signals(-done.returncode).name}"
            )
        raise ToolchainError("\n".join(reversed(said)) or f"exit code {done.returncode}")
    partial = folder / f"toolchain.{os.getpid()}.partial"
    partial.write_text(json.dumps({"toolchain_s": float(done.stdout.split()[-1])}))
    partial.replace(folder / _MARK)


def _forget_unused() -> None:
    """Removes what no job has used for long: each build leaves a base, on a CPU of 150 MB and
    more.
    """
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
    """This process's variables, with which a child finds this package wherever it is started,
    hashes as its siblings do, and says where it was when it crashes.
    """
    path = os.pathsep.join(filter(None, [PACKAGE_PARENT, os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONFAULTHANDLER": "1"}


def cache_home() -> Path:
    """COMPILEWATCH_CACHE, else the user's cache folder, else the temporary folder: the first that
    can be written.
    """
    home = os.environ.get("COMPILEWATCH_CACHE") or os.environ.get("XDG_CACHE_HOME")
    places = [Path(home)] if home else []
    places += [Path.home() / ".cache"] if os.environ.get("HOME") else []
    for place in places:
        folder = place / "compilewatch"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.gettempdir()) / f"compilewatch-{os.getuid()}"


def _key(device: str, variables: Mapping[str, str], wrapper: str) -> str:
    """Names what the checks depend on: the torch build, the interpreter, the processor and its
    flags, the compiler, and what it writes.
    """
    try:
        processor = next(
            (
                line
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("flags")
            ),
            "",
        )
    except OSError:
        processor = platform.processor()
    words = [
        package_version("torch"),
        sys.prefix,
        sys.version,
        processor,
        variables.get("CXX", ""),
        device.partition(":")[0],
        *([] if wrapper == "python" else [wrapper]),
    ]
    digest = hashlib.sha256("\n".join(map(str, words)).encode()).hexdigest()[:12]
    return f"{package_version('torch')}-{device.partition(':')[0]}-{digest}"
