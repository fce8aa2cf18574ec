"""The thread that keeps a claimed job ours.

It renews the lease, shows phase and log on the site, and hears of a cancellation.
"""

import contextvars
import threading
from dataclasses import dataclass
from typing import Self

import structlog

from runner.job_context import JobContext
from runner.site import RequestRefused, Site, SiteError, StaleAttempt

RETRY_S = 2.0  # after a heartbeat that failed: the lease runs on

logger = structlog.get_logger(__name__)


@dataclass
class JobHeartbeat:
    """Beats in the background while its `with` block runs.

    stop_reason: "cancelled" when a person stopped the job, "stale" when it is no longer ours, empty
    before. note: what the worker itself reports, in place of the suite's phase.
    """

    site: Site
    job: JobContext
    stop_reason: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        self._interval_s = self.job.claim.heartbeat_s
        self._last_failed = False  # the last beat did not reach the site
        self._done = threading.Event()
        run_in_context = contextvars.copy_context().run
        self._thread = threading.Thread(target=run_in_context, args=(self._loop,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Not joined: a beat that hangs must not hold up the result, and a late one is answered 409
        self._done.set()

    def _loop(self) -> None:
        pause_s = self._interval_s
        while not self.stop_reason and not self._done.wait(pause_s):
            pause_s = self._beat()

    def _beat(self) -> float:
        """One heartbeat; the seconds until the next."""
        job = self.job
        phase = self.note or job.log.phase()
        try:
            cancel = self.site.heartbeat(job.job_id, job.attempt, phase, job.log.tail())
        except (StaleAttempt, RequestRefused) as answer:
            if not self._done.is_set():
                logger.warning("the job is no longer ours", answer=str(answer))
            self.stop_reason = "stale"
            return self._interval_s
        except SiteError as error:
            if not self._last_failed:
                logger.warning(
                    "heartbeat failed; trying again until the lease is renewed", why=str(error)
                )
            self._last_failed = True
            return min(self._interval_s, RETRY_S)
        self._last_failed = False
        self.stop_reason = "cancelled" if cancel else ""
        return self._interval_s
