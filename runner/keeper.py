"""The main process's thread: says that the worker is alive, pauses and resumes it, delivers what waits in the outbox."""

import threading
from collections.abc import Callable

import structlog

from runner.site import SiteError, Stale
from runner.worker import Worker

logger = structlog.get_logger(__name__)


class Keeper(threading.Thread):
    """Beats every `heartbeat_s` seconds, also while a job runs.

    consume(True | False): make the worker take messages, or stop taking them; whether that was done.
    """

    def __init__(self, worker: Worker, heartbeat_s: float, consume: Callable[[bool], bool]) -> None:
        super().__init__(name="keeper", daemon=True)
        self._worker, self._heartbeat_s, self._consume = worker, heartbeat_s, consume
        self.paused = False
        self._problem = ""

    def run(self) -> None:
        while not self._worker.stopping.wait(self._heartbeat_s):
            self.beat()

    def beat(self) -> None:
        """One round. What does not work is told once, and tried again in the next."""
        try:
            self._obey(self._worker.site.alive(str(self._worker.boot_id)))
            problem = self._worker.outbox.deliver(self._worker.site)
        except Stale:  # the site does not know this boot id: its database was restored, say
            problem = ""
            self._worker.greet()
        except (SiteError, OSError) as error:
            problem = str(error)
        if problem != self._problem:
            logger.warning("the site does not answer as it should", why=problem) if problem else logger.info(
                "the site answers again"
            )
        self._problem = problem

    def _obey(self, paused: bool) -> None:
        if paused != self.paused and self._consume(not paused):
            self.paused = paused
            logger.info("paused: takes no job until a person resumes it" if paused else "resumed")
