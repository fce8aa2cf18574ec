"""Keeps servers and programs running, and stops them in the order that lets each finish its
work.
"""

import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

from dashboard.local.console import complain, say
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.program import Kept

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_EVERY_S = 0.5
STOP_STEPS = ((signal.SIGINT, 10.0), (signal.SIGKILL, 5.0))  # of what ends when its work is done


class Watcher:
    """All of it belongs to the main thread: children end with the thread that started them."""

    def __init__(self) -> None:
        self._servers: list[EmbeddedPostgres | EmbeddedBroker] = []
        self._kept: list[Kept] = []
        for number in SIGNALS:
            signal.signal(number, signal.default_int_handler)  # raises KeyboardInterrupt

    def start_server(self, server: EmbeddedPostgres | EmbeddedBroker) -> str:
        """Start a server and watch over it; its address. Raises ServerError."""
        self._servers.append(server)
        return server.start()

    def start(self, kept: Kept) -> None:
        """Start a program and watch over it."""
        self._kept.append(kept)
        kept.start()

    def watch(self, done: Callable[[], bool] = lambda: False) -> None:
        """Start again what ends by itself, until it is `done` or a signal raises
        KeyboardInterrupt.
        """
        while not done():
            for server in self._servers:
                if server.ended():
                    complain(
                        f"{server.home.name} ended by itself; starting it again (log: {server.log})"
                    )
                    server.start()
            for kept in self._kept:
                kept.tend()
            time.sleep(LOOK_EVERY_S)

    def stop(self) -> None:
        """Stop everything. A signal meanwhile ends all programs at once.

        The program that started last talks to the others and stops first; the others, which talk to
        the servers alone, stop together; then the servers, the last started first.
        """
        for number in SIGNALS:
            signal.signal(number, self._hurry)
        for kept in self._kept[-1:]:
            kept.stop()
        with ThreadPoolExecutor() as pool:
            list(pool.map(Kept.stop, reversed(self._kept[:-1])))
        for server in reversed(self._servers):
            server.stop()

    def _hurry(self, number: int, frame: FrameType | None) -> None:
        say("ending everything at once")
        for kept in self._kept:
            kept.kill()
