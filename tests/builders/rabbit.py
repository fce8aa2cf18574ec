"""A real RabbitMQ (`apt-get install rabbitmq-server`) on a free port of 127.0.0.1; all it writes
lies in one folder.

Each account of a worker may use its machine's queue and Celery's own remote control, as
docs/operations.md says.
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
from tests.builders.worker import wait_for

# The one on PATH would become another account
SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
SALT = b"salt"
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}


def of_machine(key: str) -> dict[str, str]:
    """What a worker of this machine may touch: the machine's queue, and what Celery's remote
    control makes.
    """
    own = rf"machine\.{key}|celeryev.*|.*celery\.pidbox"
    return {"configure": f"^({own})$", "write": f"^({own})$", "read": f"^({own})$"}


class Rabbit:
    """A running server. accounts: name -> permissions; everybody's password is their name."""

    def __init__(
        self, home: Path, accounts: dict[str, dict[str, str]], consumer_timeout_s: float
    ) -> None:
        self.port, epmd_port = free_port(), free_port()
        (home / "definitions.json").write_text(json.dumps(definitions(accounts)))
        (home / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\nload_definitions = {home}/definitions.json\n"
        )
        # It looks every second, and not every minute, for what took too long
        often = "{channel_tick_interval, 1000}"
        timeout = f"{{consumer_timeout, {round(1000 * consumer_timeout_s)}}}"
        (home / "advanced.config").write_text(f"[{{rabbit, [{timeout}, {often}]}}].")
        environment = {
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
            "ERL_EPMD_PORT": str(epmd_port),
        }
        self._log = (home / "server.log").open("w")
        epmd = shutil.which("epmd")
        assert epmd, "no RabbitMQ here: apt-get install rabbitmq-server"
        self._processes = [
            subprocess.Popen(
                command,
                cwd=home,
                env={**os.environ, **environment},
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )
            for command in ([epmd, "-address", "127.0.0.1", "-port", str(epmd_port)], [str(SERVER)])
        ]
        wait_for(self._listens, seconds=120)

    def url(self, account: str) -> str:
        return f"amqp://{account}:{account}@127.0.0.1:{self.port}//"

    def says(self, text: str) -> bool:
        """Whether its log holds `text`."""
        return text in Path(self._log.name).read_text()

    def stop(self) -> None:
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._log.close()

    def _listens(self) -> bool:
        if self._processes[1].poll() is not None:
            raise AssertionError(
                "RabbitMQ did not start:\n" + Path(self._log.name).read_text()[-3000:]
            )
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def definitions(accounts: dict[str, dict[str, str]]) -> dict[str, object]:
    """Accounts and their permissions, as the server reads them at its start."""
    hashes = {
        name: base64.b64encode(SALT + hashlib.sha256(SALT + name.encode()).digest()).decode()
        for name in accounts
    }
    return {
        "vhosts": [{"name": "/"}],
        "users": [
            {
                "name": name,
                "password_hash": hashes[name],
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": [],
            }
            for name in accounts
        ],
        "permissions": [
            {"user": name, "vhost": "/", **allowed} for name, allowed in accounts.items()
        ],
    }


@contextmanager
def rabbit(
    home: Path, accounts: dict[str, dict[str, str]], consumer_timeout_s: float = 1800.0
) -> Iterator[Rabbit]:
    """A server with these accounts, ended at the end."""
    server = Rabbit(home, accounts, consumer_timeout_s)
    try:
        yield server
    finally:
        server.stop()
