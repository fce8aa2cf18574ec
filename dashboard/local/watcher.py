"""Keeps servers and programs running, and stops them in the reverse of the order of their starts."""

import signal
import time
from types import FrameType

from dashboard.local.console import complain, say
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.program import Kept

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_EVERY_S = 0.5


class Watcher:
    """All of it belongs to the main thread: children end with the thread that started them."""

    def __init__(self) -> None:
        self._servers: list[EmbeddedPostgres | EmbeddedBroker] = []
        self._kept: list[Kept] = []
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler)    # raises KeyboardInterrupt

    def start_server(self, server: EmbeddedPostgres | EmbeddedBroker) -> str:
        """Start a server and watch over it; its address. Raises ServerError."""
        self._servers.append(server)
        return server.start()

    def start(self, kept: Kept) -> None:
        """Start a program and watch over it."""
        self._kept.append(kept)
        kept.start()

    def watch(self) -> None:
        """Start again what ends by itself, until a signal raises KeyboardInterrupt."""
        while True:
            for server in self._servers:
                if server.ended():
                    complain(f"{server.home.name} ended by itself; starting it again (log: {server.log})")
                    server.start()
            for kept in self._kept:
                kept.tend()
            time.sleep(LOOK_EVERY_S)

    def stop(self) -> None:
        """Stop everything, the last started first. A signal meanwhile ends all programs at once."""
        for number in SIGNALS:
            signal.signal(number, self._hurry)
        for kept in reversed(self._kept):
            kept.stop()
        for server in reversed(self._servers):
            server.stop()

    def _hurry(self, number: int, frame: FrameType | None) -> None:
        say("ending everything at once")
        for kept in self._kept:
            kept.kill()
