"""Environments as jobs get them: a worker, a site that keeps the pinned sets, and an index of tiny
wheels.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner import jobfolder
from runner.environments import Environment
from runner.environments.providing import provided
from runner.joblog import JobLog
from runner.site import Claim, Wanted
from runner.ticket import Ticket
from runner.worker import Worker
from tests.builders.package_index import PackageIndex
from tests.builders.worker import SiteJob, SiteServer


def wanted(version: str = "0.0.1", **other: Any) -> dict[str, Any]:
    """What a claim's answer says of the environment of this torch."""
    asked: dict[str, Any] = {"build": version, "version": version, "index_url": "", "libraries": {}}
    return {**asked, "requirements": None, "packages": [f"torch=={version}"], **other}


class Provider:
    """One worker's environments. `use` is what a job does."""

    def __init__(self, worker: Worker, site: SiteServer, index: PackageIndex) -> None:
        self.worker, self.site, self.index = worker, site, index
        self._jobs = 0

    @property
    def folder(self) -> Path:
        return self.worker.settings.environments_dir

    def names(self) -> list[str]:
        """The environments in the folder, whole or not."""
        beside = {".lock", ".failed"}
        return sorted(
            each.name
            for each in self.folder.iterdir()
            if each.suffix not in beside and each.name != ".cache"
        )

    @contextmanager
    def use(
        self,
        version: str = "0.0.1",
        *,
        why_stop: Callable[[], str] = str,
        attempt: int = 1,
        **other: Any,
    ) -> Iterator[Environment]:
        self._jobs += 1
        name = f"use{self._jobs}"
        job = self.site.add(name, environment=wanted(version, **other))
        job.state, job.attempt = "running", attempt
        folder = self.worker.jobs / f"{name}.1"
        jobfolder.make(folder)
        ticket = Ticket(name, attempt, self._claim(job), folder, [-1], JobLog(folder / "log.txt"))
        try:
            with provided(self.worker, ticket, why_stop) as environment:
                yield environment
        finally:
            jobfolder.remove(folder)

    def make(self, version: str = "0.0.1", **other: Any) -> Path:
        """Have it, give it back; its folder."""
        with self.use(version, **other) as environment:
            return Path(environment.command[0]).parents[1]

    def _claim(self, job: SiteJob) -> Claim:
        assert job.environment
        known = self.site.pinned.get(tuple(job.environment["packages"]))
        return Claim(
            {},
            1,
            60,
            Wanted.read({"requirements": known, **job.environment} if known else job.environment),
        )


def imported(environment: Environment) -> str:
    """The version of the torch that a process in the environment imports."""
    command = [environment.command[0], "-c", "import torch; print(torch.__version__)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
