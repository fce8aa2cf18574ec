"""The main process's thread: reports that the worker is alive, and does what the site answers."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import structlog

from runner.disk_room import describe_missing_room
from runner.repositories import Repositories
from runner.site import SiteError, StaleAttempt
from runner.worker import Worker

logger = structlog.get_logger(__name__)


class WorkerHeartbeat(threading.Thread):
    """Beats every `interval_s` seconds, also while a job runs.

    Each beat reports that the worker is alive and whether its disk is full, pauses or resumes it,
    reads newly pinned repositories, and delivers what waits in the outbox. A worker whose time is
    over ends as by SIGTERM.

    consume(True | False): start or stop taking messages; whether that was done.
    """

    def __init__(self, worker: Worker, interval_s: float, consume: Callable[[bool], bool]) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._worker = worker
        self._interval_s = interval_s
        self._consume = consume
        self._repositories = Repositories(worker)
        self.paused = False
        self._problem = ""
        self._delivery: threading.Thread | None = None
        self._not_delivered = ""  # why, at the last delivery

    def run(self) -> None:
        while not self._worker.stopping.wait(self._interval_s):
            self.beat()

    def beat(self) -> None:
        """One round. What fails is logged once, and tried again in the next."""
        problem = ""
        if self._worker.remaining_s <= 0:
            logger.info("the time that was given is over: leaving")
            os.kill(os.getpid(), signal.SIGTERM)
            return
        try:
            if alive_file := self._worker.settings.alive_file:
                alive_file.touch()
            paused, repositories = self._report_alive()
            if paused != self.paused and self._consume(not paused):
                self.paused = paused
                words = "paused: takes no job until a person resumes it" if paused else "resumed"
                logger.info(words)
            self._repositories.report_new(repositories)
            # In a thread: an upload may take minutes, and we go on beating
            if self._delivery is None or not self._delivery.is_alive():
                self._delivery = threading.Thread(target=self._deliver, daemon=True)
                self._delivery.start()
            problem = self._not_delivered
        except (SiteError, OSError) as error:
            problem = str(error)
        if problem and problem != self._problem:
            logger.warning("not all is well with the site; trying again", why=problem)
        elif self._problem and not problem:
            logger.info("all is well with the site again")
        self._problem = problem

    def _deliver(self) -> None:
        self._not_delivered = self._worker.outbox.deliver(self._worker.site)

    def _report_alive(self) -> tuple[bool, list[dict[str, Any]]]:
        """Report to the site; return whether we are paused, and the repositories of own models.

        A site that does not know our boot id (its database was restored) gets a hello.
        """
        try:
            full_disk = describe_missing_room(self._worker.settings)
            return self._worker.site.alive(str(self._worker.boot_id), full_disk)
        except StaleAttempt:
            return self._worker.greet().paused, []
