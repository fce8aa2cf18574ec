"""`make up` after the installation: start everything in order, watch it, stop it in reverse order.

 1. a check that the port is free; Postgres and broker: our own embedded ones, or a check of those
    that DATABASE_URL and BROKER_URL name
 2. settings into var/local.env; migrations, static files, the first account, worker and run
 3. web, and once it answers: dashboard worker, scheduler, benchmark worker
 4. the address, the password when it is new; then what ends by itself is restarted
 5. Ctrl-C or SIGTERM: all of it in reverse order; a second one: at once

The kernel signals each process when this one dies, so `kill -9` leaves nothing behind.
"""

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from dashboard.local import (
    external_servers,
    instance_lock,
    local_env,
    machine_facts,
    preflight,
    project,
    static_files,
    torch_build,
)
from dashboard.local.console import print_error, print_info
from dashboard.local.embedded import EmbeddedServer, ServerError
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.processes import last_lines, wait_until
from dashboard.local.programs import WEB_STOP_S, device, programs
from dashboard.local.supervised_program import SupervisedProgram
from dashboard.local.watcher import Watcher

WEB_START_S = 90.0
PORT_FREE_S = WEB_STOP_S + 1.0  # within which the web of a start that was killed frees its port


class StepFailedError(RuntimeError):
    """A step of the start did not work; the text says which, and where to read more."""


class Supervisor:
    """Everything that runs for one data folder `var`, with the site on 127.0.0.1:`port`."""

    def __init__(self, var: Path, port: int, result_folders: Sequence[Path] = ()) -> None:
        """result_folders: recorded elsewhere, to show instead of measuring anything here."""
        self.var = var
        self.port = port
        self.result_folders = result_folders
        self.url = f"http://127.0.0.1:{port}"
        self.settings: dict[str, str] = {}
        self.watcher = Watcher()

    def run(self) -> int:
        """Start, watch, stop; the exit code."""
        began = time.monotonic()
        try:
            self._check_port()
            self._start_servers()
            self._make_settings()
            self._prepare_site()
            self._start_programs()
            print_info(
                f"up in {time.monotonic() - began:.1f} s: {self.url}  (Ctrl-C stops everything)"
            )
            self.watcher.watch()
        except KeyboardInterrupt:
            print_info("stopping, this takes a few seconds (Ctrl-C again: at once)")
        except (ServerError, StepFailedError, OSError) as failure:
            print_error(str(failure))
            return 1
        finally:
            self.watcher.stop()
            print_info(f"stopped; all data are in {self.var}")
        return 0

    def _check_port(self) -> None:
        """Refuse a port that another server has: its answers would be taken for our site's."""
        if wait_until(lambda: machine_facts.port_holder(self.port) is None, PORT_FREE_S):
            return
        if holder := machine_facts.port_holder(self.port):
            problem = preflight.taken_port(self.port, holder)
            raise StepFailedError(f"{problem.what}: {problem.remedy}")

    def _start_servers(self) -> None:
        """1. Postgres and broker. Those that the user named are checked before anything starts."""
        database, broker = os.environ.get("DATABASE_URL"), os.environ.get("BROKER_URL")
        if database:
            external_servers.check_postgres(database)
        if broker:
            external_servers.check_broker(broker)
        if not database:
            database = self._start_server(EmbeddedPostgres(self.var / "postgres"))
        if not broker:
            broker = self._start_server(EmbeddedBroker(self.var / "broker"))
        self.settings |= {"DATABASE_URL": database, "BROKER_URL": broker}

    def _start_server(self, server: EmbeddedServer) -> str:
        address = self.watcher.start_server(server)
        link = f", linked from {server.home}" if server.home.is_symlink() else ""
        print_info(f"{server.home.name} is up (data: {server.home.resolve()}{link})")
        return address

    def _make_settings(self) -> None:
        """2a. What web, workers and manage.py read."""
        previous = local_env.read(self.var)
        key = os.environ.get("SECRET_KEY") or previous.get("SECRET_KEY")
        self.settings |= {
            "SECRET_KEY": key or secrets.token_urlsafe(50),
            "SITE_URL": os.environ.get("SITE_URL") or self.url,
            "PUBLIC_READ": os.environ.get("PUBLIC_READ") or "true",
            "VAR_DIR": str(self.var),
            "WORKER_DEVICE": device(),
        }
        token = os.environ.get("WORKER_TOKEN") or previous.get("WORKER_TOKEN")
        if token:
            self.settings["WORKER_TOKEN"] = token
        local_env.write(self.var, self.settings)

    def _prepare_site(self) -> None:
        """2b. Migrations, static files, the first account, worker and run."""
        print_info("preparing the site: migrations, static files, the first account")
        self._manage("migrate", "--no-input")
        if static_files.changed(self.var):
            self._manage("collectstatic", "--no-input")
            static_files.mark_collected(self.var)
        self._set_up_database()

    def _set_up_database(self) -> None:
        """Set up measuring here, or results recorded elsewhere; report what was created."""
        catalog, build = self.var / "catalog.json", self.var / "build.json"
        catalog.write_text(self._call(sys.executable, "-m", "benchmarks_suite", "list", "--json"))
        options: tuple[str | Path, ...] = ("--catalog", catalog, "--json")
        if self.result_folders:
            answer = self._manage("setup_demo", *self.result_folders, *options)
        else:
            build.write_text(json.dumps(torch_build.installed()))
            answer = self._manage("setup_local", "--build", build, *options)
        created = json.loads(answer)
        if created["admin_password"]:
            password = f"user admin, password {created['admin_password']}"
            print_info(f"admin account, shown this once: {password}")
        if created["worker_token"]:
            self.settings["WORKER_TOKEN"] = created["worker_token"]
            local_env.write(self.var, self.settings)
        if run := created["first_run"]:
            print_info(f"planned the first run, watch it on {self.url}/runs/{run}/")

    def _start_programs(self) -> None:
        """3. Web, and once it answers the rest."""
        self._check_port()  # again: another instance may have started meanwhile
        for program in programs(self.settings, self.port, measuring=not self.result_folders):
            supervised = SupervisedProgram(program, project.ROOT, self.var / "log")
            self.watcher.start(supervised)
            if program.name == "web":
                self._wait_for_web(supervised)

    def _wait_for_web(self, web: SupervisedProgram) -> None:
        deadline = time.monotonic() + WEB_START_S
        while not _answers(f"{self.url}/readyz"):
            if web.ended() or time.monotonic() > deadline:
                log_end = last_lines(web.log)
                raise StepFailedError(f"the site does not answer. {web.log} ends:\n{log_end}")
            time.sleep(0.1)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of manage.py and other processes next to the site."""
        return {**os.environ, **self.settings}

    def _manage(self, *arguments: str | Path) -> str:
        # `make test` runs the checks
        return self._call(sys.executable, "manage.py", *arguments, "--skip-checks")

    def _call(self, *command: str | Path) -> str:
        """Run one step to its end; its output. Raises StepFailedError with the end of that."""
        process = subprocess.run(
            command,
            cwd=project.ROOT,
            env=self.environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if process.returncode != 0:
            lines = (process.stdout + process.stderr).splitlines()
            name = " ".join(map(str, command[1:]))
            error = f"`{name}` ended with exit code {process.returncode}"
            raise StepFailedError("\n".join([f"{error}:", *lines[-30:]]))
        return process.stdout


def main(result_folders: Sequence[Path]) -> int:
    """Run a supervisor of the data folder, unless one runs here already."""
    var, port = project.var_dir(), project.port()
    try:
        lock = instance_lock.acquire(var, f"http://127.0.0.1:{port}")
    except OSError as error:
        print_error(
            f"the data folder {var} cannot be used: {error.strerror}. Fix that, or set VAR_DIR to "
            "another"
        )
        return 1
    if lock is None:
        print_info(instance_lock.describe_holder(var))
        return 0
    with lock:
        return Supervisor(var, port, result_folders).run()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # our own http address
            return int(answer.status) == 200
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
