"""What one worker is made of, and what it does when it, or the process that runs its jobs,
starts.
"""

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from runner import facts, gpu, jobfolder
from runner.environments import Environment
from runner.environments.reports import of_adopted, of_made
from runner.environments.store import Record, Store
from runner.environments.target import platform_of
from runner.outbox import Outbox
from runner.process import end_leftover
from runner.settings import Settings
from runner.shared import BootId, Flag
from runner.site import FOREVER_S, Greeting, Site, SiteError

AGAIN_S = 5.0
TELL_PATIENCE_S = 5.0

logger = structlog.get_logger(__name__)


@dataclass
class Worker:
    """One worker: made in the main process, inherited by the forked process that runs the jobs.

    environment: SUITE_PYTHON's; further: those of SUITE_PYTHONS. stopping: set when the worker is
        told to stop;
    greeted: set when the site knows this process's boot id.
    """

    settings: Settings
    environment: Environment
    site: Site
    outbox: Outbox
    stopping: Flag
    further: tuple[Environment, ...] = ()
    boot_id: BootId = field(default_factory=BootId)
    greeted: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gpu = gpu.facts(self.settings.device, os.environ)
        self.store = Store(self.settings.environments_dir, self.tell_environment)

    @property
    def adopted(self) -> tuple[Environment, ...]:
        """Interpreters that were found and not made, SUITE_PYTHON's first."""
        return (self.environment, *self.further)

    @property
    def jobs(self) -> Path:
        return jobs_folder(self.settings.worker_dir)

    @property
    def device_ids(self) -> list[str]:
        """What its locks are named after: workers that call one GPU by different numbers share its
        lock.
        """
        return list(self.gpu["uuids"]) if self.gpu else ["cpu"]

    def introduction(self) -> dict[str, Any]:
        """The body of hello."""
        catalog = dict(self.environment.catalog)
        about = {
            "gpu": self.gpu,
            "suite_version": catalog.pop("suite_version", ""),
            "sources": catalog.pop("sources", []),
            "platform": platform_of(self.settings.device.kind),
            "environments_gb": self.settings.environments_gb,
            **facts.disk(self.settings.environments_dir),
        }
        made = [
            of_made(key, record, last_used=used) for key, (record, used) in self.store.all().items()
        ]
        return {
            "boot_id": str(self.boot_id),
            "device": str(self.settings.device),
            "facts": {**facts.computer(), **about},
            "catalog": catalog,
            "builds": [each.build for each in self.adopted],
            "environments": [*map(of_adopted, self.adopted), *made],
        }

    def tell_environment(self, key: str, state: str, record: Record, message: str = "") -> None:
        """Tell the site what has become of an environment. It is no harm if that does not arrive:
        hello tells all.
        """
        try:
            self.site.environments(
                [of_made(key, record, state=state, message=message)], TELL_PATIENCE_S
            )
        except SiteError as error:
            logger.warning(
                "the site was not told of an environment", key=key, state=state, why=str(error)
            )

    def greet(self) -> Greeting:
        """Say hello until the site answers. What a killed predecessor left in the outbox goes
        first: hello with a new boot id voids the claims that those results belong to.
        """
        while True:
            try:
                self.outbox.deliver(self.site)
                greeting = self.site.hello(self.introduction(), FOREVER_S)
            except SiteError as error:
                logger.error("the site does not take our hello; trying again", why=str(error))
                if self.stopping.wait(AGAIN_S):
                    raise
            else:
                self.greeted.set()
                return greeting

    def begin_process(self) -> None:
        """The first act of a newly forked process that runs jobs: its predecessor, if there was
        one, was killed.
        """
        self.site = self.site.anew()
        self.greeted = threading.Event()
        end_leftovers(self.settings.worker_dir)
        self.store.remove_leftovers()
        self.boot_id.renew()
        threading.Thread(target=self.greet, daemon=True).start()


def jobs_folder(worker_dir: Path) -> Path:
    """Where the folders of running jobs lie."""
    return worker_dir / "jobs"


def end_leftovers(worker_dir: Path) -> None:
    """End the processes, and remove the folders, of jobs whose worker process was killed."""
    for folder in jobs_folder(worker_dir).glob("*"):
        ended = end_leftover(folder)
        logger.warning(
            "cleaned up after a killed worker", job=folder.name, every_process_ended=ended
        )
        jobfolder.remove(folder)
