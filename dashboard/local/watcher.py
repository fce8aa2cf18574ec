"""Keeps servers and programs running, and stops them in an order that lets each finish its work."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

from dashboard.local.console import print_error, print_info
from dashboard.local.embedded import EmbeddedServer, ServerError
from dashboard.local.restarts import Restarts
from dashboard.local.supervised_program import SupervisedProgram

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 0.5
STOP_STEPS = ((signal.SIGINT, 10.0), (signal.SIGKILL, 5.0))  # of what ends when its work is done


class Watcher:
    """To be used from the main thread alone: children end with the thread that started them."""

    def __init__(self) -> None:
        self._servers: dict[EmbeddedServer, Restarts] = {}
        self._programs: list[SupervisedProgram] = []
        for number in SIGNALS:
            signal.signal(number, self._interrupt)

    def start_server(self, server: EmbeddedServer) -> str:
        """Start a server and watch over it; its address. Raises ServerError."""
        restarts = self._servers[server] = Restarts()
        restarts.begin()
        return server.start()

    def start(self, program: SupervisedProgram) -> None:
        """Start a program and watch over it."""
        self._programs.append(program)
        program.start()

    def watch(self) -> None:
        """Restart what ends by itself, until a signal raises KeyboardInterrupt."""
        while True:
            for server, restarts in self._servers.items():
                if server.ended():
                    _restart(server, restarts)
            for program in self._programs:
                program.restart_if_ended()
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop everything. A signal meanwhile kills all programs at once.

        The program that started last talks to the others and stops first; the others, which talk to
        the servers alone, stop together; then the servers, the last started first.
        """
        self._end_at_once_from_now_on()
        for program in self._programs[-1:]:
            program.stop()
        with ThreadPoolExecutor() as pool:
            list(pool.map(SupervisedProgram.stop, reversed(self._programs[:-1])))
        for server in reversed(self._servers):
            server.stop()

    def _interrupt(self, *_: object) -> None:
        """The first signal. Another one must not interrupt the words and the stopping after it."""
        self._end_at_once_from_now_on()
        raise KeyboardInterrupt

    def _end_at_once_from_now_on(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._kill_programs)

    def _kill_programs(self, *_: object) -> None:
        print_info("ending everything at once")
        for program in self._programs:
            program.kill()


def _restart(server: EmbeddedServer, restarts: Restarts) -> None:
    """Start a server that ended, when its pause is over: a full disk ends it at each start."""
    why = "ended by itself"
    if restarts.is_planned:
        if not restarts.is_due:
            return
        restarts.begin()
        try:
            server.start()
            return
        except (ServerError, OSError) as failure:
            why = f"could not be started: {failure}"
    print_error(f"{server.home.name} {why}; {restarts.plan(server.log)}")
