"""The thread that keeps a claimed job ours: it renews the lease, shows phase and log, and hears of
a cancellation.
"""

import contextvars
import threading
from types import TracebackType
from typing import Self

import structlog

from runner.joblog import JobLog
from runner.site import Refused, Site, SiteError, Stale

AGAIN_S = 2.0  # after a heartbeat that failed: the lease runs on

logger = structlog.get_logger(__name__)


class Heartbeat:
    """Beats in the background while its `with` block runs.

    verdict: "cancelled" when a person stopped the job, "stale" when it is no longer ours, empty
        before.
    note: what the worker itself has to say, in place of the suite's phase.
    """

    def __init__(self, site: Site, job_id: str, attempt: int, every_s: float, log: JobLog) -> None:
        self.verdict = ""
        self.note = ""
        self._site, self._job_id, self._attempt, self._every_s, self._log = (
            site,
            job_id,
            attempt,
            every_s,
            log,
        )
        self._silent = False  # the last beat did not reach the site
        self._done = threading.Event()
        self._thread = threading.Thread(
            target=contextvars.copy_context().run, args=(self._loop,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Not joined: a beat that hangs must not hold up the result, and a late one is answered 409
        self._done.set()

    def _loop(self) -> None:
        pause = self._every_s
        while not self.verdict and not self._done.wait(pause):
            pause = self._beat()

    def _beat(self) -> float:
        """One heartbeat; the seconds until the next."""
        try:
            cancel = self._site.heartbeat(
                self._job_id, self._attempt, self.note or self._log.phase(), self._log.tail()
            )
        except (Stale, Refused) as answer:
            if not self._done.is_set():
                logger.warning("the job is no longer ours", answer=str(answer))
            self.verdict = "stale"
        except SiteError as error:
            if not self._silent:
                logger.warning(
                    "heartbeat failed; trying again until the lease is renewed", why=str(error)
                )
            self._silent = True
            return min(self._every_s, AGAIN_S)
        else:
            self._silent = False
            self.verdict = "cancelled" if cancel else ""
        return self._every_s
