"""Facts about the machine, from which `preflight` finds problems. Nothing here changes it."""

import importlib.util
import os
import platform
import shutil
import socket
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dashboard.local import install, project

TCP_LISTEN = "0A"  # include/net/tcp_states.h


@dataclass(frozen=True)
class MachineFacts:
    """Facts about the machine that `preflight.find_problems` needs."""

    python: tuple[int, int]
    system: str  # as platform.system()
    machine: str  # as platform.machine()
    glibc: tuple[int, int]  # (0, 0): another C library
    has_venv: bool  # a virtual environment with pip exists, or can be made
    has_compiler: bool
    has_headers: bool  # Python.h of this Python
    folder: Path  # where .venv goes
    compiler_folders: tuple[Path, ...]  # torch's libraries, other builds' and the compiled code
    closed_folder: Path | None  # the first of checkout and data folder that cannot be written to
    free_gb: float
    needed_gb: float
    data_folder: Path
    data_free_gb: float | None  # where the data lie on another disk than .venv
    port: int
    port_holder: str | None  # who listens there; None: nobody
    is_root: bool
    has_apt: bool


def collect(*, needs_port: bool) -> MachineFacts:
    """The facts of this machine, for this checkout."""
    return MachineFacts(
        python=sys.version_info[:2],
        system=platform.system(),
        machine=platform.machine(),
        glibc=_glibc(),
        has_venv=install.venv_works() or importlib.util.find_spec("ensurepip") is not None,
        has_compiler=shutil.which("g++") is not None,
        has_headers=Path(sysconfig.get_path("include"), "Python.h").exists(),
        folder=project.ROOT,
        compiler_folders=(project.ROOT, project.var_dir(), Path(tempfile.gettempdir())),
        closed_folder=_closed_folder(project.ROOT, project.var_dir()),
        free_gb=shutil.disk_usage(project.ROOT).free / 1e9,
        needed_gb=install.required_disk_gb(),
        data_folder=project.var_dir(),
        data_free_gb=_free_gb_of_another_disk(project.var_dir()),
        port=project.port(),
        port_holder=port_holder(project.port()) if needs_port else None,
        is_root=os.geteuid() == 0,
        has_apt=shutil.which("apt-get") is not None,
    )


def port_holder(port: int) -> str | None:
    """Name who listens on 127.0.0.1:`port`, as far as we may see; None when nobody does."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except PermissionError:
            return "the system, which keeps ports below 1024 for root"
        except OSError:
            return _listening_process(port) or "another user's process"
    return None


def _listening_process(port: int) -> str | None:
    """The process that owns the listening socket, found through its inode as `ss -p` does it."""
    links = _listening_sockets(port)
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(descriptor.readlink()) in links:
                process = descriptor.parents[1]
                return f"process {process.name} ({(process / 'comm').read_text().strip()})"
        except OSError:  # gone meanwhile, or not ours to look at
            continue
    return None


def _listening_sockets(port: int) -> set[str]:
    """List what /proc/PID/fd links to, for each socket that listens on `port`."""
    links = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        columns = line.split()
        address, state, inode = columns[1], columns[3], columns[9]
        if state == TCP_LISTEN and int(address.split(":")[1], 16) == port:
            links.add(f"socket:[{inode}]")
    return links


def _closed_folder(*folders: Path) -> Path | None:
    """The first folder that cannot be written to; for a missing one its existing parent counts."""
    for folder in folders:
        existing = _existing(folder)
        if not os.access(existing, os.W_OK | os.X_OK):
            return existing
    return None


def _free_gb_of_another_disk(data: Path) -> float | None:
    """Read what is free on the disk of `data`; None where that is the disk of the checkout."""
    existing = _existing(data)
    if existing.stat().st_dev == project.ROOT.stat().st_dev:
        return None
    return shutil.disk_usage(existing).free / 1e9


def _existing(folder: Path) -> Path:
    """The folder, or the first of its parents that exists."""
    return next(step for step in (folder, *folder.parents) if step.exists())


def _glibc() -> tuple[int, int]:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        major, minor = version.split(".")[:2]
    except (ValueError, OSError):
        return (0, 0)
    return (int(major), int(minor)) if name == "glibc" else (0, 0)
