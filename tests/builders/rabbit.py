"""A real RabbitMQ (`apt-get install rabbitmq-server`) on a free port of 127.0.0.1.

Everything that it writes is in one folder. Each account of a worker may use its machine's queue and
Celery's own remote control, as docs/operations.md says.
"""

import base64
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.builders.local_site import free_port
from tests.builders.waiting import wait_for

# The one on PATH would become another account
SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
SALT = b"salt"
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


def of_machine(key: str) -> dict[str, str]:
    """The permissions of a worker of this machine.

    They are for the machine's queue and those of its workers, and for what Celery's remote control
    makes.
    """
    own = rf"^(machine\.{key}(\..+)?|celeryev.*|.*celery\.pidbox)$"
    return {"configure": own, "write": own, "read": own}


class Rabbit:
    """A running server. accounts: name -> permissions; everybody's password is their name."""

    def __init__(
        self, home: Path, accounts: dict[str, dict[str, str]], consumer_timeout_s: float
    ) -> None:
        self.port = free_port()
        self._home = home
        self._write_configuration(accounts, consumer_timeout_s)
        self._log = (home / "server.log").open("w")
        epmd = shutil.which("epmd")
        assert epmd, "RabbitMQ is not installed: apt-get install rabbitmq-server"
        epmd_port = str(free_port())
        environment = self._environment(epmd_port)
        self._processes = []
        for command in ([epmd, "-address", "127.0.0.1", "-port", epmd_port], [str(SERVER)]):
            process = subprocess.Popen(
                command,
                cwd=home,
                env=environment,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )
            self._processes.append(process)
        wait_for(self._listens, seconds=120)

    def _write_configuration(
        self, accounts: dict[str, dict[str, str]], consumer_timeout_s: float
    ) -> None:
        definitions_file = self._home / "definitions.json"
        definitions_file.write_text(json.dumps(definitions(accounts)))
        (self._home / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nload_definitions = {definitions_file}\n"
        )
        # It checks every second, and not every minute, what took too long
        interval = "{channel_tick_interval, 1000}"
        timeout = f"{{consumer_timeout, {round(1000 * consumer_timeout_s)}}}"
        (self._home / "advanced.config").write_text(f"[{{rabbit, [{timeout}, {interval}]}}].")

    def _environment(self, epmd_port: str) -> dict[str, str]:
        home = self._home
        return {
            **os.environ,
            "HOME": str(home),
            "RABBITMQ_NODENAME": f"compilewatch{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": f"{home}/data",
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{home}/advanced.config",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": "/dev/null",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": epmd_port,
        }

    def url(self, account: str) -> str:
        return f"amqp://{account}:{account}@127.0.0.1:{self.port}//"

    def has_logged(self, text: str) -> bool:
        return text in Path(self._log.name).read_text()

    def stop(self) -> None:
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._log.close()

    def _listens(self) -> bool:
        if self._processes[1].poll() is not None:
            end_of_log = Path(self._log.name).read_text()[-3000:]
            raise AssertionError(f"RabbitMQ did not start:\n{end_of_log}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def definitions(accounts: dict[str, dict[str, str]]) -> dict[str, object]:
    """Accounts and their permissions, as the server reads them at its start."""
    users = []
    permissions = []
    for name, allowed in accounts.items():
        digest = hashlib.sha256(SALT + name.encode()).digest()
        user = {
            "name": name,
            "password_hash": base64.b64encode(SALT + digest).decode(),
            "hashing_algorithm": "rabbit_password_hashing_sha256",
            "tags": [],
        }
        users.append(user)
        permissions.append({"user": name, "vhost": "/", **allowed})
    return {"vhosts": [{"name": "/"}], "users": users, "permissions": permissions}


@contextmanager
def rabbit(
    home: Path, accounts: dict[str, dict[str, str]], consumer_timeout_s: float = 1800.0
) -> Iterator[Rabbit]:
    """A server with these accounts, while the block runs."""
    server = Rabbit(home, accounts, consumer_timeout_s)
    try:
        yield server
    finally:
        server.stop()
