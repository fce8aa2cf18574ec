"""The environment of one job: adopted, there already, or made now."""

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import structlog

from runner import evidence, jobfolder
from runner.environments.adopted import Environment
from runner.environments.index import configured
from runner.environments.making import CannotMake, Maker
from runner.environments.room import make_room
from runner.environments.steps import Steps, Stopped
from runner.environments.store import Record
from runner.environments.target import platform_of
from runner.environments.tools import find_tools
from runner.process import mark_of
from runner.settings import PROJECT
from runner.site import FOREVER_S, Refused, Wanted
from runner.ticket import Ticket
from runner.worker import Worker

WORDS_CHARACTERS = 3500
KEY_DIGITS = 16

logger = structlog.get_logger(__name__)


class NotProvided(Exception):
    """There is no environment for this job here, and none can be made. The text says why."""


class FailedBefore(CannotMake):
    """The same was tried in vain within the last minutes."""


@contextmanager
def provided(worker: Worker, ticket: Ticket, why_stop: Callable[[], str]) -> Iterator[Environment]:
    """The environment for the job, which nobody removes in the `with` block.

    1. an adopted interpreter that is the build and has the libraries asked for   2. the pinned set:
       the site's, or
    resolved now   3. the environment of that set, made now unless it is there, whole   4. room for
    it

    why_stop: asked while we work; a word ends it. Raises NotProvided, Stopped, SiteError, OSError.
    """
    wanted = ticket.claim.environment or _named_by(ticket.claim.job, worker.environment)
    adopted = next((each for each in worker.adopted if each.serves(wanted)), None)
    if adopted is not None:
        yield adopted
        return
    if not wanted.packages:
        has = ", ".join(each.label for each in worker.adopted)
        raise NotProvided(
            f"The job is for the torch build {wanted.build}, but this worker has only {has}. "
            "Point SUITE_PYTHON at it."
        )
    with _Provision(worker, ticket, wanted, why_stop).made() as environment:
        yield environment


def _named_by(job: dict[str, object], default: Environment) -> Wanted:
    """What a job asks for whose site says nothing of environments: a build by its label, of a
    variant its base's.
    """
    return Wanted(build=str(job.get("build") or default.label).partition("~")[0])


@dataclass
class _Provision:
    """The making of one job's environment."""

    worker: Worker
    ticket: Ticket
    wanted: Wanted
    why_stop: Callable[[], str]

    def __post_init__(self) -> None:
        settings, folder = self.worker.settings, self.ticket.folder
        self._store = self.worker.store
        self._tools = find_tools(self._store.folder)
        self._steps = Steps(
            folder / "steps",
            jobfolder.temporary(folder),
            self.ticket.log,
            mark_of(folder),
            self.why_stop,
        )
        index = configured(settings.package_index_url).beside(
            self.wanted.index_url or settings.torch_index_url
        )
        self._maker = Maker(
            self._tools, index, settings.device.kind, self._steps, folder / "scratch"
        )
        self._is_new = False

    @contextmanager
    def made(self) -> Iterator[Environment]:
        self.ticket.log.say("phase: environment")
        requirements = self._agreed()
        key = f"torch-{self.wanted.version}-{_digest([platform.python_version(), *requirements.splitlines()])}"
        record = self._record(requirements)
        with ExitStack() as held:
            try:
                make = partial(self._make, key, record)
                folder, record = held.enter_context(self._store.used(key, make, self._tick))
                if self._is_new:
                    make_room(self._store, self.worker.settings.environments_gb, self._tools)
            except (CannotMake, OSError) as error:
                raise self._told(key, record, error) from error
            self._steps.keep_open = []
            yield _environment(folder, record)

    def _agreed(self) -> str:
        """The pinned set that counts for this build, these libraries and this platform: the first
        that was found.
        """
        key = f"unresolved-{_digest(self.wanted.packages)}"
        try:
            text = self.wanted.requirements or self._resolve(key)
        except (CannotMake, OSError) as error:
            raise self._told(key, self._record(""), error) from error
        where = platform_of(self.worker.settings.device.kind)
        try:
            return self.worker.site.requirements(
                self.ticket.job_id, self.ticket.attempt, where, text, FOREVER_S
            )
        except Refused as answer:
            raise NotProvided(
                f"The site refused the requirements that were resolved: {answer}"
            ) from answer

    def _resolve(self, key: str) -> str:
        self._unless_failed(key)
        return self._maker.resolve(self.wanted.packages)

    def _unless_failed(self, key: str) -> None:
        """Raise CannotMake where it failed a moment ago; a job that was retried tries again."""
        if self.ticket.attempt == 1 and (words := self._store.failure(key)):
            raise FailedBefore(
                f"It failed a moment ago for another job; retry this job to try again. {words}"
            )

    def _make(self, key: str, record: Record, new: Path, lock: int) -> Record:
        self._unless_failed(key)
        logger.info(
            "making an environment", key=key, packages=len(record.requirements.splitlines())
        )
        self.worker.tell_environment(key, "building", record)
        self._steps.keep_open = [lock]
        self._maker.install(record.requirements, new)
        self._is_new = True
        return replace(record, facts=self._maker.attempt(record.requirements, new))

    def _record(self, requirements: str) -> Record:
        return Record(
            self.wanted.build, self.wanted.version, dict(self.wanted.libraries), requirements
        )

    def _told(self, key: str, record: Record, error: CannotMake | OSError) -> NotProvided:
        """The failure in words; the site's list of environments has it, too."""
        full = evidence.full_disk(
            self._store.folder if self._store.folder.exists() else self.worker.settings.worker_dir
        )
        words = f"{full}{error}"[-WORDS_CHARACTERS:]
        if not isinstance(error, FailedBefore):
            self._store.remember_failure(key, words)
        self.worker.tell_environment(key, "failed", record, words)
        return NotProvided(
            f"The environment of torch build {self.wanted.build} could not be made here. {words}"
        )

    def _tick(self, waited_s: float) -> None:
        """While another worker makes the environment."""
        if reason := self.why_stop():
            raise Stopped(reason)
        if waited_s == 0:
            self.ticket.log.say("waiting for another worker, which makes or uses this environment")


def _environment(folder: Path, record: Record) -> Environment:
    command = (str(folder / "bin" / "python"), "-m", "benchmarks_suite")
    return Environment(command, {**record.facts, "label": record.build}, {}, str(PROJECT))


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:KEY_DIGITS]
