"""`make up` after the installation: starts everything in order, watches over it, stops it in
reverse order.

 1. Postgres and broker: our own embedded ones, or a check of those that DATABASE_URL and BROKER_URL
    name
 2. settings into var/local.env; migrations, static files, the first account, worker and run
 3. web, and once it answers: dashboard worker, scheduler, benchmark worker
 4. the address, the password when it is new; then what ends by itself is started again
 5. Ctrl-C or SIGTERM: all of it in reverse order; a second one: at once

The kernel tells each process to end when this one dies, so `kill -9` leaves nothing behind.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from dashboard.local import local_env, project, real_servers, single, static_files, torch_build
from dashboard.local.console import complain, say
from dashboard.local.embedded import ServerError
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.processes import last_lines
from dashboard.local.program import Kept
from dashboard.local.programs import device, programs
from dashboard.local.watcher import Watcher

WEB_PATIENCE_S = 90.0


class StepFailedError(RuntimeError):
    """A step of the start did not work; the text says which, and where to read more."""


class Supervisor:
    """Everything that runs for one data folder `var`, with the site on 127.0.0.1:`port`."""

    def __init__(self, var: Path, port: int, recorded: Sequence[Path] = ()) -> None:
        """recorded: folders of result files to show instead of measuring anything here."""
        self.var = var
        self.port = port
        self.recorded = recorded
        self.url = f"http://127.0.0.1:{port}"
        self.settings: dict[str, str] = {}
        self.watcher = Watcher()

    def run(self) -> int:
        """Start, watch, stop; the exit code."""
        code = 0
        began = time.monotonic()
        try:
            self._start_servers()
            self._make_settings()
            self._prepare_site()
            self._start_programs()
            say(f"up in {time.monotonic() - began:.1f} s: {self.url}  (Ctrl-C stops everything)")
            code = self._work()
        except KeyboardInterrupt:
            say("stopping, this takes a few seconds (Ctrl-C again: at once)")
        except (ServerError, StepFailedError, OSError) as failure:
            complain(str(failure))
            code = 1
        finally:
            self.watcher.stop()
        say(f"stopped; all data are in {self.var}")
        return code

    def _work(self) -> int:
        """4. Keep everything running until a signal raises KeyboardInterrupt; else the exit
        code.
        """
        self.watcher.watch()
        return 0

    def _start_servers(self) -> None:
        """1. Postgres and broker; those that the user named are asked first, before anything
        starts.
        """
        database, broker = os.environ.get("DATABASE_URL"), os.environ.get("BROKER_URL")
        if database:
            real_servers.check_postgres(database)
        if broker:
            real_servers.check_broker(broker)
        self.settings["DATABASE_URL"] = database or self._embed(
            EmbeddedPostgres(self.var / "postgres")
        )
        self.settings["BROKER_URL"] = broker or self._embed(EmbeddedBroker(self.var / "broker"))

    def _embed(self, server: EmbeddedPostgres | EmbeddedBroker) -> str:
        address = self.watcher.start_server(server)
        link = f", linked from {server.home}" if server.home.is_symlink() else ""
        say(f"{server.home.name} is up (data: {server.home.resolve()}{link})")
        return address

    def _make_settings(self) -> None:
        """2a. What web, workers and manage.py read."""
        kept = local_env.read(self.var)
        self.settings |= {
            "SECRET_KEY": local_env.secret_key(kept),
            "SITE_URL": os.environ.get("SITE_URL") or self.url,
            "PUBLIC_READ": os.environ.get("PUBLIC_READ") or "true",
            "COMPRESS_STATIC": os.environ.get("COMPRESS_STATIC") or "false",
            "VAR_DIR": str(self.var),
            "WORKER_DEVICE": device(),
        }
        token = os.environ.get("WORKER_TOKEN") or kept.get("WORKER_TOKEN")
        if token:
            self.settings["WORKER_TOKEN"] = token
        local_env.write(self.var, self.settings)

    def _prepare_site(self) -> None:
        """2b. Migrations, static files, the first account, worker and run."""
        say("preparing the site: migrations, static files, the first account")
        self._manage("migrate", "--no-input")
        if static_files.changed(self.var):
            self._manage("collectstatic", "--no-input")
            static_files.note(self.var)
        self._note_setup(self._set_up())

    def _set_up(self) -> str:
        """What was made in the database, as JSON: for measuring here, or for what was recorded
        elsewhere.
        """
        catalog, build = self.var / "catalog.json", self.var / "build.json"
        catalog.write_text(self._call(sys.executable, "-m", "benchmarks_suite", "list", "--json"))
        if self.recorded:
            return self._manage("setup_demo", *self.recorded, "--catalog", catalog, "--json")
        build.write_text(json.dumps(torch_build.installed()))
        return self._manage(
            "setup_local", "--catalog", catalog, "--build", build, "--json", *self._setup_options()
        )

    def _setup_options(self) -> tuple[str, ...]:
        """What of setup_local is left out."""
        return ()

    def _note_setup(self, printed: str) -> None:
        answer = json.loads(printed)
        if answer["admin_password"]:
            say(f"admin account, shown this once: user admin, password {answer['admin_password']}")
        if answer["worker_token"]:
            self.settings["WORKER_TOKEN"] = answer["worker_token"]
            local_env.write(self.var, self.settings)
        if answer["first_run"]:
            say(f"planned the first run, watch it on {self.url}/runs/{answer['first_run']}/")

    def _start_programs(self) -> None:
        """3. Web, and once it answers the rest."""
        for program in programs(self.settings, self.port, measuring=not self.recorded):
            kept = Kept(program, project.ROOT, self.var / "log")
            self.watcher.start(kept)
            if program.name == "web":
                self._wait_for_web(kept)

    def _wait_for_web(self, web: Kept) -> None:
        give_up = time.monotonic() + WEB_PATIENCE_S
        while not _answers(f"{self.url}/readyz"):
            if web.ended() or time.monotonic() > give_up:
                raise StepFailedError(
                    f"the site does not answer. {web.log} ends:\n{last_lines(web.log)}"
                )
            time.sleep(0.1)

    @property
    def environment(self) -> dict[str, str]:
        """Of what runs beside the site, as manage.py."""
        return {**os.environ, **self.settings}

    def _manage(self, *arguments: str | Path) -> str:
        # Make test runs them
        return self._call(sys.executable, "manage.py", *arguments, "--skip-checks")

    def _call(self, *command: str | Path) -> str:
        """Run one step to its end; what it printed. Raises StepFailedError with the end of its
        messages.
        """
        done = subprocess.run(
            command,
            cwd=project.ROOT,
            env=self.environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if done.returncode != 0:
            said = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
            name = " ".join(str(word) for word in command[1:])
            raise StepFailedError(f"`{name}` ended with exit code {done.returncode}:\n{said}")
        return done.stdout


def main(recorded: Sequence[Path]) -> int:
    """Run the supervisor unless one runs here already. recorded: see Supervisor."""
    return hold_and_run(lambda var, port: Supervisor(var, port, recorded))


def hold_and_run(make: Callable[[Path, int], Supervisor]) -> int:
    """Run what `make` makes of data folder and port, unless a supervisor runs here already; the
    exit code.
    """
    var, port = project.var_dir(), project.port()
    try:
        lock = single.hold(var, f"http://127.0.0.1:{port}")
    except OSError as error:
        complain(
            f"the data folder {var} cannot be used: {error.strerror}. Mend that, or set VAR_DIR "
            "to another"
        )
        return 1
    if lock is None:
        say(single.describe(var))
        return 0
    with lock:
        return make(var, port).run()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  # our own http address
            return int(answer.status) == 200
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]]))
