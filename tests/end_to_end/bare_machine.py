"""Prove `make up` on a bare Debian: a chroot with make and python3 alone, as root and as a normal
user.

    make test-bare ARGS="--suite bookworm --account user"

Needs root, debootstrap and the network. The way of one proof:

 1. debootstrap a minimal system; clone the committed state of this checkout into it
 2. as a normal user: `make up` has to refuse with one apt-get line and touch nothing; then that
    line is run as root
 3. `make up`; wait for the site, then for the first point of a series
 4. Ctrl-C; everything has to be gone within seconds
 5. `make up` again: up in seconds, the point still there

Environment variables that begin with PIP_ or TORCH_, and those that name proxies, are handed on.
BARE_COPY is a colon-separated list of files and folders that are copied to the same place in the
chroot, for what those point to.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
MIRROR = os.environ.get("BARE_MIRROR", "http://deb.debian.org/debian")
HANDED_ON = re.compile(r"PIP_.*|TORCH_.*|.*_PROXY|.*_proxy")
CLONE = Path("compilewatch")
USER = "visitor"
FIRST_BENCHMARK = "mlp.smoke.inference.float32.static.b64"  # what the first run begins with
UP_S, FIRST_POINT_S, GONE_S = 1800, 900, 30


def main() -> int:
    """Run the proofs that were asked for; 0 when all of them hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--suite", default="bookworm", help="bookworm (Debian 12) or trixie (Debian 13)"
    )
    parser.add_argument("--account", choices=("root", "user", "both"), default="both")
    parser.add_argument(
        "--work", type=Path, help="a folder to keep the systems in; else a temporary one"
    )
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit(
            "this proof needs root, for chroot, and debootstrap: run it as root after apt-get "
            "install debootstrap"
        )
    accounts = ("root", "user") if options.account == "both" else (options.account,)
    with folder(options.work) as work:
        base = bootstrap(options.suite, work)
        for account in accounts:
            prove(base, work / f"{options.suite}-{account}", account)
    return 0


def prove(base: Path, root: Path, account: str) -> None:
    """The numbered steps for one account."""
    machine = Machine(base, root, account)
    if account == "user":
        machine.refuses_and_touches_nothing()
    first = machine.up()
    seconds = machine.wait_for_points(first)
    machine.stops_cleanly(first)
    again = machine.up()
    assert point(machine.url, "inductor"), "the points are gone after the second start"
    machine.stops_cleanly(again)
    tell(
        f"PROVED on {root.name}: eager and inductor on the page {seconds:.0f} s after `make up` "
        "was typed"
    )


class Machine:
    """One bare system in which one account has a clone of the project."""

    def __init__(self, base: Path, root: Path, account: str) -> None:
        self.root, self.account = root, account
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.home = Path("/root" if account == "root" else f"/home/{USER}")
        tell(f"copying the bare system to {root}")
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
        for outside in filter(
            None, ["/etc/resolv.conf", *os.environ.get("BARE_COPY", "").split(":")]
        ):
            copy(Path(outside), root / outside.lstrip("/"))
        self.run("root", f"useradd --create-home --shell /bin/bash {USER}")
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(self.clone)], check=True)
        if account == "user":
            self.run("root", f"chown -R {USER}: {self.home}")

    @property
    def clone(self) -> Path:
        return self.root / str(self.home).lstrip("/") / CLONE

    def refuses_and_touches_nothing(self) -> None:
        """2. One line for apt-get, exit code 2 from make, no .venv and no var; then a person runs
        that line.
        """
        done = self.run(self.account, "make up", check=False)
        lines = [line for line in done.stdout.splitlines() if "sudo apt-get install" in line]
        assert done.returncode != 0, done.stdout
        assert len(lines) == 1, done.stdout
        assert not (self.clone / ".venv").exists()
        assert not (self.clone / "var").exists()
        asked = lines[0].partition("sudo ")[2]
        tell(f"refused, asked for: {asked}")
        self.run("root", f"apt-get update -q && DEBIAN_FRONTEND=noninteractive {asked}")

    def up(self) -> "Started":
        """3. `make up`, until the site answers."""
        began = time.monotonic()
        log = self.root.with_suffix(".log")
        command = self.command(self.account, f"make up PORT={self.port}")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        started = Started(process, log, began)
        wait("the site", UP_S, lambda: answers(f"{self.url}/readyz"), started.check)
        tell(f"up after {time.monotonic() - began:.1f} s")
        return started

    def wait_for_points(self, started: "Started") -> float:
        """3b. Until the series has a point of each; seconds since `make up`."""
        for config in ("eager", "inductor"):
            value = wait(
                f"a point of {config}",
                FIRST_POINT_S,
                partial(point, self.url, config),
                started.check,
            )
            seconds = time.monotonic() - started.began
            tell(f"a point of {config} after {seconds:.0f} s: {value} ms")
        return seconds

    def stops_cleanly(self, started: "Started") -> None:
        """4. As Ctrl-C does; no process of the system may be left."""
        supervisor = json.loads((self.clone / "var" / "supervisor.lock").read_text())["pid"]
        began = time.monotonic()
        os.kill(supervisor, signal.SIGINT)
        started.process.wait(timeout=GONE_S)
        left = [process.name for process in Path("/proc").glob("[0-9]*") if self.holds(process)]
        assert not left, f"still running in {self.root}: {left}"
        tell(f"stopped after {time.monotonic() - began:.1f} s, nothing left")

    def holds(self, process: Path) -> bool:
        """Whether a process, by its folder in /proc, lives in this system."""
        try:
            return (process / "root").readlink() == self.root
        except OSError:
            return False

    def run(
        self, account: str, command: str, *, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.command(account, command),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if check and done.returncode != 0:
            sys.exit(f"{command!r} failed in {self.root}:\n{done.stdout}")
        return done

    def command(self, account: str, command: str) -> list[str]:
        """`command` in the chroot, with /proc and /dev there and an environment as after a
        login.
        """
        name, home = ("root", "/root") if account == "root" else (USER, f"/home/{USER}")
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home,
            "USER": name,
            **{key: value for key, value in os.environ.items() if HANDED_ON.fullmatch(key)},
        }
        words = [f"{key}={value}" for key, value in environment.items()]
        script = (
            'root="$1"; user="$2"; shift 2; '
            'mount --rbind /dev "$root/dev"; mount --rbind /proc "$root/proc"; '
            'exec chroot --userspec="$user" "$root" "$@"'
        )
        there = f"cd {home}; cd {CLONE} 2>/dev/null; {command}"
        return [
            "unshare",
            "--mount",
            "sh",
            "-ec",
            script,
            "-",
            str(self.root),
            name,
            "env",
            "-i",
            *words,
            "sh",
            "-c",
            there,
        ]


class Started:
    """A `make up` that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, began: float) -> None:
        self.process, self.log, self.began = process, log, began

    def check(self) -> None:
        if self.process.poll() is not None:
            tail = "\n".join(self.log.read_text().splitlines()[-40:])
            sys.exit(
                f"make up ended with exit code {self.process.returncode}; {self.log} ends:\n{tail}"
            )


def bootstrap(suite: str, work: Path) -> Path:
    """A minimal system with make and python3; taken as it is when it is there."""
    base = work / suite
    if not base.exists():
        tell(f"bootstrapping {suite}")
        unfinished = work / f"{suite}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [
            "debootstrap",
            "--variant=minbase",
            "--include=make,python3",
            suite,
            str(unfinished),
            MIRROR,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        unfinished.rename(base)
    return base


def point(url: str, config: str) -> float | None:
    """The newest latency of the MLP in `config`, as its series page exports it; None as long as
    there is none.
    """
    text = read(f"{url}/series/{FIRST_BENCHMARK}/export.json?metric=latency_ms&config={config}")
    values = [row["value"] for row in json.loads(text)["data"]] if text else []
    return values[-1] if values else None


def read(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return ""


def answers(url: str) -> bool:
    return bool(read(url))


def wait(
    what: str,
    seconds: float,
    condition: Callable[[], object],
    check: Callable[[], None] = lambda: None,
) -> object:
    """The first true value of `condition`; ends the proof when there is none in time."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = condition()
        if found:
            return found
        check()
        time.sleep(0.5)
    sys.exit(f"{what} did not come within {seconds:.0f} s")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


@contextmanager
def folder(given: Path | None) -> Iterator[Path]:
    """The folder to work in; a temporary one is removed afterwards."""
    if given:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="bare-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def tell(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
