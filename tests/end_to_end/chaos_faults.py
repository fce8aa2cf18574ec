"""The faults of the chaos test. Each ends by itself, and touches only processes that the test has
started.
"""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from dashboard.local.processes import wait_until
from tests.builders.local_site import START_S, LocalSite

VICTIMS = {  # name -> what its command line holds
    "web server": "gunicorn",
    "dashboard worker": "--queues dashboard",
    "scheduler": " beat ",
    "benchmark worker": "-m runner",
    "job process": "-m runner",  # forked by the one before
    "suite": "chaos_suite.py",
    "Postgres": "postgres -D",
    "broker": "valkey-server",
}
FROZEN = ("web server", "dashboard worker", "benchmark worker", "broker")
FIND_S = 300.0
FREEZE_S = 15.0  # longer than a lease
GONE_S = 120.0  # on a busy machine, within which nothing is left of a killed supervisor
DISK_MIB = 16


class Fault(NamedTuple):
    """kind: kill, freeze, supervisor or disk; victim: of the first two."""

    kind: str
    victim: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.victim}".strip()


class Faults:
    """Strikes a running system. orphans: processes that outlived a killed supervisor."""

    def __init__(self, site: LocalSite, disk: Path | None) -> None:
        self.site, self.disk = site, disk
        self.orphans = 0

    def kinds(self) -> list[Fault]:
        """Every fault that this machine allows."""
        faults = [Fault("kill", victim) for victim in VICTIMS]
        faults += [Fault("freeze", victim) for victim in FROZEN]
        faults.append(Fault("supervisor"))
        if self.disk:
            faults.append(Fault("disk"))
        return faults

    def schedule(self, chance: random.Random, count: int, jobs: int) -> Iterator[tuple[Fault, int]]:
        """(fault, after how many ended jobs), every fault once before any comes again."""
        faults: list[Fault] = []
        while len(faults) < count:
            faults += chance.sample(self.kinds(), len(self.kinds()))
        job_counts = sorted(chance.sample(range(1, jobs * 9 // 10), count))
        yield from zip(faults, job_counts, strict=False)

    def strike(self, fault: Fault) -> str:
        """Do it, and wait until it is over; what was done."""
        strikes: dict[str, Callable[[], str]] = {
            "kill": lambda: f"kill -9 of {fault.victim} ({kill(self.site, fault.victim)})",
            "freeze": lambda: freeze(self.site, fault.victim, FREEZE_S),
            "supervisor": self._kill_supervisor,
            "disk": self._fill_disk,
        }
        return strikes[fault.kind]()

    def _kill_supervisor(self) -> str:
        """kill -9 of the supervisor; when all that it had started is gone, it is started again."""
        children = psutil.Process(self.site.pid).children(recursive=True)
        self.site.kill()
        wait_until(lambda: not any(map(is_alive, children)), GONE_S)
        left = [child for child in children if is_alive(child)]
        self.orphans += len(left)
        for child in left:
            with suppress(psutil.Error):
                print(f"  left behind: {' '.join(child.cmdline()[:6])}")
                child.kill()
        self.site.start()
        self.site.wait_for(r"up in [\d.]+ s", START_S)
        return f"kill -9 of the supervisor, {len(left)} of {len(children)} processes left behind"

    def _fill_disk(self) -> str:
        """No byte is free in the worker's folder for a while."""
        assert self.disk
        filler = self.disk / "filler"
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(b"0" * 65536)
        time.sleep(FREEZE_S)
        filler.unlink()
        return f"the worker's disk full for {FREEZE_S:.0f} s"


def kill(site: LocalSite, victim: str) -> int:
    """kill -9 of a process of the system, once there is one; its pid."""
    process = find(site, victim)[0]
    process.kill()
    return process.pid


def freeze(site: LocalSite, victim: str, seconds: float) -> str:
    """SIGSTOP of all processes of a kind, SIGCONT after so long."""
    processes = find(site, victim, everyone=True)
    for process in processes:
        with suppress(psutil.Error):
            process.suspend()
    try:
        time.sleep(seconds)
    finally:
        for process in processes:
            with suppress(psutil.Error):
                process.resume()
    return f"{victim} frozen for {seconds:.0f} s ({len(processes)} processes)"


def find(site: LocalSite, victim: str, everyone: bool = False) -> list[psutil.Process]:
    """The first process of a kind, or everyone of it, once there is one."""
    deadline = time.monotonic() + FIND_S
    while time.monotonic() < deadline:
        processes = []
        for process in psutil.Process(site.pid).children(recursive=True):
            with suppress(psutil.Error):
                if matches(process, victim) and (everyone or is_victim(process, victim)):
                    processes.append(process)
        if processes:
            return processes
        time.sleep(0.02)
    children = psutil.Process(site.pid).children(recursive=True)
    running = "; ".join(" ".join(child.cmdline()[:6]) for child in children)
    raise AssertionError(f"no {victim} ran within {FIND_S:.0f} s; processes: {running}")


def matches(process: psutil.Process, victim: str) -> bool:
    return VICTIMS[victim] in " ".join(process.cmdline()) and is_alive(process)


def is_victim(process: psutil.Process, victim: str) -> bool:
    """Test whether it is the first process of its kind; of a job process, the one below."""
    parent = process.parent()
    is_child = parent is not None and VICTIMS[victim] in " ".join(parent.cmdline())
    return is_child == (victim == "job process")


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """`folder` on a small file system of its own; None, and the reason printed, where not even
    root may mount one.
    """
    folder.mkdir()
    options = f"size={DISK_MIB}m,mode=755,uid={os.geteuid()}"
    mount = ["mount", "-t", "tmpfs", "-o", options, "chaos", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
        refusal = mounted.stderr.strip()
    except OSError as error:
        refusal = str(error)
    if refusal:
        print(f"full disk: skipped, no file system can be mounted here ({refusal})")
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)
