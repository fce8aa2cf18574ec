"""The environment of one job: adopted, there already, or made now."""

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import structlog

from runner import job_folder
from runner.commands import CommandRunner, JobStopped
from runner.environments.adopted import SuiteEnvironment
from runner.environments.eviction import enforce_disk_limit
from runner.environments.installation import EnvironmentInstaller, InstallationFailed
from runner.environments.package_managers import find_package_managers
from runner.environments.package_sources import configured_sources
from runner.environments.requirement_lines import UnsafeRequirement, checked, pinned_lines
from runner.environments.store import EnvironmentRecord
from runner.environments.target_platform import platform_name
from runner.job_context import JobContext
from runner.resource_exhaustion import describe_full_disk
from runner.settings import PROJECT
from runner.site import FOREVER_S, RequestedEnvironment, RequestRefused
from runner.worker import Worker

MESSAGE_CHARACTERS = 3500
KEY_DIGITS = 16

logger = structlog.get_logger(__name__)


class EnvironmentUnavailable(Exception):
    """There is no environment for this job here, and none can be made. The text says why."""


class FailedRecently(InstallationFailed):
    """The same installation failed within the last minutes."""


@contextmanager
def provide_environment(
    worker: Worker, job: JobContext, why_stop: Callable[[], str]
) -> Iterator[SuiteEnvironment]:
    """The environment for the job, which nobody removes in the `with` block.

    1. an adopted interpreter, if one is the build and has the requested libraries
    2. otherwise the pinned set: the site's, or resolved now
    3. the environment of that set, installed now unless it is there, undamaged
    4. evictions that the disk limit asks for

    why_stop: called while we work; a word ends it. Raises EnvironmentUnavailable, JobStopped,
    SiteError, OSError.
    """
    requested = job.claim.environment
    if requested is None:
        # The site is older than environments: a build by its label, of a variant that of its base
        label = str(job.claim.job.get("build") or worker.environment.label)
        requested = RequestedEnvironment(build=label.partition("~")[0])
    for adopted in worker.adopted:
        if adopted.serves(requested):
            yield adopted
            return
    if not requested.packages:
        labels = ", ".join(environment.label for environment in worker.adopted)
        raise EnvironmentUnavailable(
            f"The job is for the torch build {requested.build}, but this worker has only "
            f"{labels}. Point SUITE_PYTHON at it."
        )
    try:
        requested = checked(requested)
    except UnsafeRequirement as error:
        raise EnvironmentUnavailable(
            f"The environment of torch build {requested.build} is not made: {error}."
        ) from error
    with _Provisioning(worker, job, requested, why_stop).environment() as environment:
        yield environment


@dataclass
class _Provisioning:
    """Resolves and installs one job's environment."""

    worker: Worker
    job: JobContext
    requested: RequestedEnvironment
    why_stop: Callable[[], str]

    def __post_init__(self) -> None:
        settings, folder = self.worker.settings, self.job.folder
        self._store = self.worker.store
        self._managers = find_package_managers(self._store.folder)
        self._commands = CommandRunner(
            folder, job_folder.temporary(folder), self.job.log, self.why_stop
        )
        torch_index_url = self.requested.index_url or settings.torch_index_url
        self._installer = EnvironmentInstaller(
            self._managers,
            configured_sources(settings.package_index_url).with_index(torch_index_url),
            settings.device.kind,
            self._commands,
            folder / "scratch",
            self.requested.hashes,
            settings.suite_account,
        )
        self._is_new = False
        self._resolved = ""  # by ourselves

    @contextmanager
    def environment(self) -> Iterator[SuiteEnvironment]:
        self.job.log.say("phase: environment")
        requirements = self._pinned_set()
        what_it_is = [platform.python_version(), *requirements.splitlines()]
        if self.requested.hashes:
            # Another build may have the same version: a release, or another of its candidates
            what_it_is.append(self.requested.build)
        digest = _digest(what_it_is)
        key = f"torch-{self.requested.version}-{digest}"
        record = self._record(requirements)
        with ExitStack() as held:
            try:
                install = partial(self._install, key, record)
                use = self._store.use(key, install, self._while_waiting)
                folder, record = held.enter_context(use)
                if self._is_new:
                    limit_gb = self.worker.settings.environments_gb
                    enforce_disk_limit(self._store, limit_gb, self._managers)
            except (InstallationFailed, OSError) as error:
                raise self._report_failure(key, record, error) from error
            self._commands.keep_open = []
            command = (str(folder / "bin" / "python"), "-m", "benchmarks_suite")
            build = {**record.facts, "label": record.build}
            yield SuiteEnvironment(command, build, {}, str(PROJECT))

    def _pinned_set(self) -> str:
        """The pinned set for this build, these libraries and this platform.

        The first set that any worker resolved counts.
        """
        key = f"unresolved-{_digest(self.requested.packages)}"
        resolved = self.requested.requirements
        try:
            if not resolved:
                self._raise_if_failed_recently(key)
                resolved = self._resolved = self._installer.resolve(self.requested.packages)
        except (InstallationFailed, OSError) as error:
            raise self._report_failure(key, self._record(""), error) from error
        platform_key = platform_name(self.worker.settings.device.kind)
        try:
            return pinned_lines(
                self.worker.site.requirements(
                    self.job.job_id, self.job.attempt, platform_key, resolved, FOREVER_S
                )
            )
        except (RequestRefused, UnsafeRequirement) as answer:
            raise EnvironmentUnavailable(
                f"The site refused the requirements that were resolved: {answer}"
            ) from answer

    def _install(
        self, key: str, record: EnvironmentRecord, new: Path, lock: int
    ) -> EnvironmentRecord:
        self._raise_if_failed_recently(key)
        packages = len(record.requirements.splitlines())
        logger.info("making an environment", key=key, packages=packages)
        self.worker.report_environment(key, "building", record)
        self._commands.keep_open = [lock]
        if record.requirements != self._resolved:
            record = replace(record, requirements=self._needed_of(record.requirements))
        self._installer.install(record.requirements, new)
        self._is_new = True
        return replace(record, facts=self._installer.verify(record.requirements, new))

    def _needed_of(self, requirements: str) -> str:
        """Reduce a set that another worker resolved to what our own index says is needed.

        Whoever has a worker's token could have added any package to it.
        """
        needed = self._installer.resolve(self.requested.packages, within=requirements)
        if left_out := sorted(set(requirements.splitlines()) - set(needed.splitlines())):
            names = ", ".join(left_out)
            self.job.log.say(f"left out of the pinned set, because nothing needs it: {names}")
            logger.warning("packages were left out of the pinned set", packages=names)
        return needed

    def _raise_if_failed_recently(self, key: str) -> None:
        """A job that was retried tries again."""
        if self.job.attempt > 1:
            return
        if failure := self._store.recent_failure(key):
            raise FailedRecently(
                f"It failed a moment ago for another job; retry this job to try again. {failure}"
            )

    def _record(self, requirements: str) -> EnvironmentRecord:
        requested = self.requested
        return EnvironmentRecord(
            requested.build, requested.version, dict(requested.libraries), requirements
        )

    def _report_failure(
        self, key: str, record: EnvironmentRecord, error: InstallationFailed | OSError
    ) -> EnvironmentUnavailable:
        """Report it to the site's list of environments; the exception that the job ends with."""
        folder = self._store.folder
        if not folder.exists():
            folder = self.worker.settings.worker_dir
        full_disk = describe_full_disk(folder, self.worker.settings.needed_mb)
        message = f"{full_disk}{error}"[-MESSAGE_CHARACTERS:]
        if not isinstance(error, FailedRecently):
            self._store.remember_failure(key, message)
        self.worker.report_environment(key, "failed", record, message)
        return EnvironmentUnavailable(
            f"The environment of torch build {self.requested.build} could not be made here. "
            f"{message}"
        )

    def _while_waiting(self, waited_s: float) -> None:
        """While another worker makes the environment."""
        if reason := self.why_stop():
            raise JobStopped(reason)
        if waited_s == 0:
            self.job.log.say("waiting for another worker, which makes or uses this environment")


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:KEY_DIGITS]
