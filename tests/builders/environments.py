"""Environments as jobs get them: a worker, a site with the pinned sets, an index of tiny wheels."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner import job_folder
from runner.environments.adopted import SuiteEnvironment
from runner.environments.provisioning import provide_environment
from runner.job_context import JobContext
from runner.job_log import JobLog
from runner.site import Claim, RequestedEnvironment
from runner.worker import Worker
from tests.builders.package_index import PackageIndex
from tests.builders.site_server import SiteJob, SiteServer


def requested_environment(version: str = "0.0.1", **other: Any) -> dict[str, Any]:
    """The environment of this torch, as a claim's answer describes it."""
    return {
        "build": version,
        "version": version,
        "index_url": "",
        "libraries": {},
        "requirements": None,
        "packages": [f"torch=={version}"],
        **other,
    }


class Provider:
    """One worker's environments. `use` is what a job does."""

    def __init__(self, worker: Worker, site: SiteServer, index: PackageIndex) -> None:
        self.worker, self.site, self.index = worker, site, index
        self._jobs = 0

    @property
    def folder(self) -> Path:
        return self.worker.settings.environments_dir

    def names(self) -> list[str]:
        """The environments in the folder, finished or not."""
        names = []
        for path in self.folder.iterdir():
            if path.suffix not in {".lock", ".failed"} and path.name != ".cache":
                names.append(path.name)
        return sorted(names)

    @contextmanager
    def use(
        self,
        version: str = "0.0.1",
        *,
        why_stop: Callable[[], str] = str,
        attempt: int = 1,
        **other: Any,
    ) -> Iterator[SuiteEnvironment]:
        self._jobs += 1
        name = f"use{self._jobs}"
        site_job = self.site.add(name, environment=requested_environment(version, **other))
        site_job.state, site_job.attempt = "running", attempt
        folder = self.worker.jobs / f"{name}.1"
        log = JobLog(folder / "log.txt")
        job_folder.create(folder)
        job = JobContext(name, attempt, self._claim(site_job), folder, [-1], log)
        try:
            with provide_environment(self.worker, job, why_stop) as environment:
                yield environment
        finally:
            job_folder.remove(folder)

    def make(self, version: str = "0.0.1", **other: Any) -> Path:
        """Use it and release it; its folder."""
        with self.use(version, **other) as environment:
            return Path(environment.command[0]).parents[1]

    def _claim(self, job: SiteJob) -> Claim:
        assert job.environment
        pinned = self.site.pinned.get(tuple(job.environment["packages"]))
        answer = {**job.environment, "requirements": pinned}
        return Claim({}, 1, 60, RequestedEnvironment.read(answer))


def imported_version(environment: SuiteEnvironment) -> str:
    """The version of the torch that a process in the environment imports."""
    command = [environment.command[0], "-c", "import torch; print(torch.__version__)"]
    return subprocess.check_output(command, text=True).strip()
