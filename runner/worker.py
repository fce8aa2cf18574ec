"""Parts of one worker, and its first acts when its processes start."""

import math
import os
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import structlog

from runner import device, host_info, job_folder
from runner.disk_room import describe_missing_room
from runner.environments.adopted import SuiteEnvironment
from runner.environments.reports import report_adopted, report_installed
from runner.environments.store import EnvironmentRecord, EnvironmentStore
from runner.environments.target_platform import platform_name
from runner.outbox import Outbox
from runner.process import end_leftover_processes
from runner.settings import WorkerSettings
from runner.shared_memory import BootId, SharedFlag
from runner.site import FOREVER_S, Greeting, Site, SiteError

HELLO_RETRY_S = 5.0
REPORT_PATIENCE_S = 5.0

logger = structlog.get_logger(__name__)


@dataclass
class Worker:
    """One worker: made in the main process, inherited by the forked process that runs the jobs.

    environment: SUITE_PYTHON's; further: those of SUITE_PYTHONS.
    stopping: set when the worker has to stop; greeted: set when the site knows this process's boot
    id.
    ends_at: when the worker leaves, as time.monotonic() has it; infinity: when it is stopped.
    """

    settings: WorkerSettings
    environment: SuiteEnvironment
    site: Site
    outbox: Outbox
    stopping: SharedFlag
    further: tuple[SuiteEnvironment, ...] = ()
    boot_id: BootId = field(default_factory=BootId)
    greeted: threading.Event = field(default_factory=threading.Event)
    ends_at: float = math.inf

    def __post_init__(self) -> None:
        self.gpu = device.gpu_info(self.settings.device, os.environ)
        self.store = EnvironmentStore(self.settings.environments_dir, self.report_environment)

    @property
    def adopted(self) -> tuple[SuiteEnvironment, ...]:
        """Interpreters that existed before the worker, SUITE_PYTHON's first."""
        return (self.environment, *self.further)

    @property
    def remaining_s(self) -> float:
        """Seconds until the worker leaves."""
        return self.ends_at - time.monotonic()

    @property
    def jobs(self) -> Path:
        return jobs_folder(self.settings.worker_dir)

    @property
    def device_ids(self) -> list[str]:
        """Identifiers that the device's locks are named after.

        Workers that call one GPU by different numbers share its lock.
        """
        if self.gpu is None:
            return ["cpu"]
        return list(self.gpu["uuids"])

    def introduction(self) -> dict[str, Any]:
        """The body of hello."""
        catalog = dict(self.environment.catalog)
        facts = {
            **host_info.describe_host(),
            "gpu": self.gpu,
            "suite_version": catalog.pop("suite_version", ""),
            "sources": catalog.pop("sources", []),
            "platform": platform_name(self.settings.device.kind),
            "own_queue": True,  # the site sends nothing to the queue of a worker that is older
            "environments_gb": self.settings.environments_gb,
            **host_info.disk_space(self.settings.environments_dir),
        }
        environments = [report_adopted(environment) for environment in self.adopted]
        for key, (record, last_used) in self.store.all().items():
            environments.append(report_installed(key, record, last_used=last_used))
        return {
            "boot_id": str(self.boot_id),
            "device": str(self.settings.device),
            "facts": facts,
            "full_disk": describe_missing_room(self.settings),
            "catalog": catalog,
            "builds": [environment.build for environment in self.adopted],
            "environments": environments,
        }

    def report_environment(
        self, key: str, state: str, record: EnvironmentRecord, message: str = ""
    ) -> None:
        """Report to the site what has become of an environment.

        It does no harm if the report does not arrive: hello reports all environments.
        """
        report = report_installed(key, record, state=state, message=message)
        try:
            self.site.environments([report], REPORT_PATIENCE_S)
        except SiteError as error:
            logger.warning(
                "an environment could not be reported to the site",
                key=key,
                state=state,
                why=str(error),
            )

    def greet(self) -> Greeting:
        """Say hello until the site answers.

        What a killed predecessor left in the outbox goes first: hello with a new boot id voids the
        claims that those results belong to.
        """
        while True:
            try:
                self.outbox.deliver(self.site)
                greeting = self.site.hello(self.introduction(), FOREVER_S)
            except SiteError as error:
                logger.error("the site does not take our hello; trying again", why=str(error))
                if self.stopping.wait(HELLO_RETRY_S):
                    raise
            else:
                self.greeted.set()
                return greeting

    def begin_process(self) -> None:
        """The first act of a newly forked process that runs jobs.

        Its predecessor, if there was one, was killed.
        """
        self.site = replace(self.site)  # with connections of its own
        self.greeted = threading.Event()
        end_leftover_jobs(self.settings.worker_dir)
        self.store.remove_leftovers()
        self.boot_id.renew()
        threading.Thread(target=self.greet, daemon=True).start()


def jobs_folder(worker_dir: Path) -> Path:
    """Return the folder that has the folders of running jobs."""
    return worker_dir / "jobs"


def end_leftover_jobs(worker_dir: Path) -> None:
    """End the processes, and remove the folders, of jobs whose worker process was killed."""
    for folder in jobs_folder(worker_dir).glob("*"):
        ended = end_leftover_processes(folder)
        logger.warning(
            "cleaned up after a killed worker", job=folder.name, every_process_ended=ended
        )
        job_folder.remove(folder)
