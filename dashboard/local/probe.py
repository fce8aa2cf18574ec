"""Looks at the machine and reports facts; `preflight` judges them."""

import importlib.util
import os
import platform
import shutil
import socket
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from dashboard.local import install, project


@dataclass(frozen=True)
class Facts:
    """What `preflight.problems` needs to know about the machine."""

    python: tuple[int, int]
    system: str  # as platform.system()
    machine: str  # as platform.machine()
    glibc: tuple[int, int]  # (0, 0): another C library
    has_venv: bool  # a virtual environment with pip is there, or can be made
    has_compiler: bool
    has_headers: bool  # Python.h of this Python
    folder: Path  # where .venv goes
    closed_folder: Path | None  # the first of checkout and data folder that cannot be written to
    free_gb: float
    needed_gb: float
    port: int
    port_holder: str | None  # who listens there; None: nobody
    is_root: bool
    has_apt: bool


def probe(*, needs_port: bool) -> Facts:
    """The facts of this machine, for this checkout. Changes nothing."""
    return Facts(
        python=sys.version_info[:2],
        system=platform.system(),
        machine=platform.machine(),
        glibc=_glibc(),
        has_venv=install.venv_works() or importlib.util.find_spec("ensurepip") is not None,
        has_compiler=shutil.which("g++") is not None,
        has_headers=Path(sysconfig.get_path("include"), "Python.h").exists(),
        folder=project.ROOT,
        closed_folder=_closed_folder(project.ROOT, project.var_dir()),
        free_gb=shutil.disk_usage(project.ROOT).free / 1e9,
        needed_gb=install.needed_gb(),
        port=project.port(),
        port_holder=listener(project.port()) if needs_port else None,
        is_root=os.geteuid() == 0,
        has_apt=shutil.which("apt-get") is not None,
    )


def listener(port: int) -> str | None:
    """Who listens on 127.0.0.1:`port`, as far as we may see; None when nobody does."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except PermissionError:
            return "the system, which keeps ports below 1024 for root"
        except OSError:
            return _process_on(port) or "another user's process"
    return None


def _process_on(port: int) -> str | None:
    """The process that owns the listening socket, found through its inode as `ss -p` does it."""
    listening = "0A"  # TCP_LISTEN, include/net/tcp_states.h
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {
        row[9] for row in rows if row[3] == listening and int(row[1].split(":")[1], 16) == port
    }
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if str(link.readlink()).removeprefix("socket:[").removesuffix("]") in inodes:
                return (
                    f"process {link.parts[2]} "
                    f"({Path('/proc', link.parts[2], 'comm').read_text().strip()})"
                )
        except OSError:  # gone meanwhile, or not ours to look at
            continue
    return None


def _closed_folder(*folders: Path) -> Path | None:
    """The first folder that cannot be written to; one that does not exist yet counts by the one
    above it.
    """
    for folder in folders:
        there = next(step for step in (folder, *folder.parents) if step.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            return there
    return None


def _glibc() -> tuple[int, int]:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        major, minor = version.split(".")[:2]
    except (ValueError, OSError):
        return (0, 0)
    return (int(major), int(minor)) if name == "glibc" else (0, 0)
