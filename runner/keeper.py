"""The main process's thread: tells that the worker is alive, pauses and resumes it, delivers what
waits.
"""

import threading
from collections.abc import Callable
from typing import Any

import structlog

from runner.repositories import Repositories
from runner.site import SiteError, Stale
from runner.worker import Worker

logger = structlog.get_logger(__name__)


class Keeper(threading.Thread):
    """Beats every `heartbeat_s` seconds, also while a job runs.

    consume(True | False): make the worker take messages, or stop taking them; whether that was
    done.
    """

    def __init__(self, worker: Worker, heartbeat_s: float, consume: Callable[[bool], bool]) -> None:
        super().__init__(name="keeper", daemon=True)
        self._worker, self._heartbeat_s, self._consume = worker, heartbeat_s, consume
        self._repositories = Repositories(worker)
        self.paused = False
        self._problem = ""

    def run(self) -> None:
        while not self._worker.stopping.wait(self._heartbeat_s):
            self.beat()

    def beat(self) -> None:
        """One round. What does not work is told once, and tried again in the next."""
        problem = ""
        try:
            if alive := self._worker.settings.alive_file:
                alive.touch()
            paused, repositories = self._alive()
            self._obey(paused)
            self._repositories.look(repositories)
            problem = self._worker.outbox.deliver(self._worker.site)
        except (SiteError, OSError) as error:
            problem = str(error)
        if problem and problem != self._problem:
            logger.warning("not all is well with the site; trying again", why=problem)
        elif self._problem and not problem:
            logger.info("all is well with the site again")
        self._problem = problem

    def _alive(self) -> tuple[bool, list[dict[str, Any]]]:
        """Whether we are paused, and the repositories of own models. A site that does not know our
        boot id (its database was restored) gets a hello.
        """
        try:
            return self._worker.site.alive(str(self._worker.boot_id))
        except Stale:
            return self._worker.greet().paused, []

    def _obey(self, paused: bool) -> None:
        if paused != self.paused and self._consume(not paused):
            self.paused = paused
            logger.info("paused: takes no job until a person resumes it" if paused else "resumed")
