"""Prove `make up` on a bare Debian: a chroot with only make and python3, as root and as a user.

    make test-bare ARGS="--suite bookworm --account user"

Needs root, debootstrap and the network. The steps of one proof:

 1. debootstrap a minimal system; clone the committed state of this checkout into it
 2. as a normal user: `make up` has to refuse with one apt-get line and touch nothing; then that
    line is run as root
 3. `make up`; wait for the site, then for the first point of a series
 4. Ctrl-C; everything has to be gone within seconds
 5. `make up` again: up in seconds, the point still there

Environment variables that begin with PIP_ or TORCH_, and those that name proxies, are passed on.
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
PASSED_ON = re.compile(r"PIP_.*|TORCH_.*|.*_PROXY|.*_proxy")
CLONE = Path("compilewatch")
USER = "visitor"
FIRST_BENCHMARK = "mlp.smoke.inference.float32.static.b64"  # what the first run begins with
UP_S, FIRST_POINT_S, GONE_S = 1800, 900, 30


def main() -> int:
    """Run the requested proofs; 0 when all of them hold."""
    options = parse_arguments()
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


def parse_arguments() -> argparse.Namespace:
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
    return parser.parse_args()


def prove(base: Path, root: Path, account: str) -> None:
    """The numbered steps for one account."""
    machine = BareMachine(base, root, account)
    if account == "user":
        machine.refuses_and_touches_nothing()
    first = machine.up()
    seconds = machine.wait_for_points(first)
    machine.stops_cleanly(first)
    again = machine.up()
    assert point(machine.url, "inductor"), "the points are gone after the second start"
    machine.stops_cleanly(again)
    report(
        f"PROVED on {root.name}: eager and inductor on the page {seconds:.0f} s after `make up` "
        "was typed"
    )


class BareMachine:
    """One bare system in which one account has a clone of the project."""

    def __init__(self, base: Path, root: Path, account: str) -> None:
        self.root, self.account = root, account
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.home = Path("/root" if account == "root" else f"/home/{USER}")
        report(f"copying the bare system to {root}")
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)
        subprocess.run(["cp", "-a", "--reflink=auto", str(base), str(root)], check=True)
        extra = os.environ.get("BARE_COPY", "").split(":")
        for path in filter(None, ["/etc/resolv.conf", *extra]):
            copy(Path(path), root / path.lstrip("/"))
        self.run("root", f"useradd --create-home --shell /bin/bash {USER}")
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(self.clone)], check=True)
        if account == "user":
            self.run("root", f"chown -R {USER}: {self.home}")

    @property
    def clone(self) -> Path:
        return self.root / str(self.home).lstrip("/") / CLONE

    def refuses_and_touches_nothing(self) -> None:
        """2. One line for apt-get, no .venv and no var; then that line is run as root."""
        done = self.run(self.account, "make up", check=False)
        lines = [line for line in done.stdout.splitlines() if "sudo apt-get install" in line]
        assert done.returncode != 0, done.stdout
        assert len(lines) == 1, done.stdout
        assert not (self.clone / ".venv").exists()
        assert not (self.clone / "var").exists()
        install = lines[0].partition("sudo ")[2]
        report(f"refused, asked for: {install}")
        self.run("root", f"apt-get update -q && DEBIAN_FRONTEND=noninteractive {install}")

    def up(self) -> "MakeUp":
        """3. `make up`, until the site answers."""
        began = time.monotonic()
        log = self.root.with_suffix(".log")
        command = self.command(self.account, f"make up PORT={self.port}")
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        started = MakeUp(process, log, began)
        wait("the site", UP_S, lambda: answers(f"{self.url}/readyz"), started.check)
        report(f"up after {time.monotonic() - began:.1f} s")
        return started

    def wait_for_points(self, started: "MakeUp") -> float:
        """3b. Wait until the series has a point of each config; seconds since `make up`."""
        for config in ("eager", "inductor"):
            newest = partial(point, self.url, config)
            value = wait(f"a point of {config}", FIRST_POINT_S, newest, started.check)
            seconds = time.monotonic() - started.began
            report(f"a point of {config} after {seconds:.0f} s: {value} ms")
        return seconds

    def stops_cleanly(self, started: "MakeUp") -> None:
        """4. As Ctrl-C does; no process of the system may be left."""
        supervisor = json.loads((self.clone / "var" / "supervisor.lock").read_text())["pid"]
        began = time.monotonic()
        os.kill(supervisor, signal.SIGINT)
        started.process.wait(timeout=GONE_S)
        left = [process.name for process in Path("/proc").glob("[0-9]*") if self.holds(process)]
        assert not left, f"still running in {self.root}: {left}"
        report(f"stopped after {time.monotonic() - began:.1f} s, nothing left")

    def holds(self, process: Path) -> bool:
        """Test whether a process, by its folder in /proc, lives in this system."""
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
        """`command` in the chroot, with /proc and /dev, and an environment as after a login."""
        name, home = USER, f"/home/{USER}"
        if account == "root":
            name, home = "root", "/root"
        environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home,
            "USER": name,
            **{key: value for key, value in os.environ.items() if PASSED_ON.fullmatch(key)},
        }
        script = (
            'root="$1"; user="$2"; shift 2; '
            'mount --rbind /dev "$root/dev"; mount --rbind /proc "$root/proc"; '
            'exec chroot --userspec="$user" "$root" "$@"'
        )
        enter_chroot = ["unshare", "--mount", "sh", "-ec", script, "-", str(self.root), name]
        variables = [f"{key}={value}" for key, value in environment.items()]
        in_clone = f"cd {home}; cd {CLONE} 2>/dev/null; {command}"
        return [*enter_chroot, "env", "-i", *variables, "sh", "-c", in_clone]


class MakeUp:
    """A `make up` that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, began: float) -> None:
        self.process, self.log, self.began = process, log, began

    def check(self) -> None:
        if self.process.poll() is not None:
            tail = "\n".join(self.log.read_text().splitlines()[-40:])
            code = self.process.returncode
            sys.exit(f"make up ended with exit code {code}; {self.log} ends:\n{tail}")


def bootstrap(suite: str, work: Path) -> Path:
    """A minimal system with make and python3; one that exists is used as it is."""
    base = work / suite
    if not base.exists():
        report(f"bootstrapping {suite}")
        unfinished = work / f"{suite}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        options = ["--variant=minbase", "--include=make,python3"]
        command = ["debootstrap", *options, suite, str(unfinished), MIRROR]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        unfinished.rename(base)
    return base


def point(url: str, config: str) -> float | None:
    """The newest latency of the MLP in `config`, as its series page exports it, or None."""
    text = read(f"{url}/series/{FIRST_BENCHMARK}/export.json?metric=latency_ms&config={config}")
    if not text:
        return None
    values = [row["value"] for row in json.loads(text)["data"]]
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
        value = condition()
        if value:
            return value
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


def report(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
