"""The site, as the worker sees it: one method per call of the worker API (docs/architecture.md).

An answer other than "yes" is an exception: StaleAttempt (409) means drop it, RequestRefused (other
4xx) means never send it again, NotAllowed (401, 403, a redirect) means that a setting is wrong.
5xx, 429 and a connection that fails are tried again, with exponential backoff and full jitter, for
as long as the call has patience; then it is Unreachable.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from runner.shared_memory import SharedFlag

API = "/api/v1/worker"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
UPLOAD_S = 60.0  # for each step of sending a large body and waiting while it is stored
FOREVER_S = float("inf")
TEMPORARY_STATUSES = {408, 425, 429}
Answer = TypeVar("Answer")


class SiteError(Exception):
    """The site did not take a call. The text says which, and what it answered."""


class Unreachable(SiteError):
    """No answer, or only 5xx, for as long as the call had patience."""


class StaleAttempt(SiteError):
    """409: not the current attempt, or the job cannot be claimed now. Drop it."""


class RequestRefused(SiteError):
    """Another 4xx: the body is wrong or too large. Do not send it again."""


class NotAllowed(SiteError):
    """401, 403 or a redirect: the token or the address is wrong."""


@dataclass(frozen=True)
class Greeting:
    """The site's answer to hello.

    queues: the machine's, and one of our own for the jobs that only we may take.
    """

    worker: str
    queues: tuple[str, ...]
    paused: bool
    heartbeat_s: float

    @classmethod
    def read(cls, answer: dict[str, Any]) -> Self:
        queues = [answer["queue"]]
        if "own_queue" in answer:  # an older site has none
            queues.append(answer["own_queue"])
        return cls(
            worker=answer["worker"],
            queues=tuple(queues),
            paused=bool(answer["paused"]),
            heartbeat_s=float(answer["heartbeat_s"]),
        )


@dataclass(frozen=True)
class RequestedEnvironment:
    """The environment that a job needs.

    build: the label of its torch build; libraries: the versions that somebody asked for;
    requirements: the pinned set, where one was resolved before, a `name==version` a line;
    packages: what to resolve otherwise; hashes: SHA-256 of the wheels of torch, one of which it has
    to be; empty: any.
    """

    build: str
    version: str = ""
    index_url: str = ""
    libraries: dict[str, str] = field(default_factory=dict)
    requirements: str = ""
    packages: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()

    @classmethod
    def read(cls, answer: dict[str, Any]) -> Self:
        return cls(
            build=answer["build"],
            version=answer["version"],
            index_url=answer["index_url"],
            libraries=dict(answer["libraries"]),
            requirements=answer["requirements"] or "",
            packages=tuple(answer["packages"]),
            hashes=tuple(answer.get("hashes", ())),
        )


@dataclass(frozen=True)
class Claim:
    """A job that is ours until its lease ends; times in seconds.

    job: the job file (job.v1); environment: None where the site is older than environments.
    """

    job: dict[str, Any]
    heartbeat_s: float
    timeout_s: float
    environment: RequestedEnvironment | None = None

    @classmethod
    def read(cls, answer: dict[str, Any]) -> Self:
        environment = answer.get("environment")
        return cls(
            job=dict(answer["job"]),
            heartbeat_s=float(answer["heartbeat_s"]),
            timeout_s=float(answer["timeout_s"]),
            environment=RequestedEnvironment.read(environment) if environment else None,
        )


@dataclass
class Site:
    """A client with one connection pool.

    A forked process makes its own (dataclasses.replace): connections cannot be shared.
    """

    url: str
    token: str = field(repr=False)
    stopping: SharedFlag

    def __post_init__(self) -> None:
        self._client = httpx.Client(
            base_url=self.url + API,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=httpx.Timeout(10.0, connect=5.0),
            # No proxy for this computer
            trust_env=urlsplit(self.url).hostname not in {"127.0.0.1", "::1", "localhost"},
        )

    def hello(self, introduction: dict[str, Any], patience_s: float = 0) -> Greeting:
        answer = self._call("hello", patience_s, json=introduction)
        return _parse(Greeting.read, answer)

    def alive(self, boot_id: str, full_disk: str = "") -> tuple[bool, list[dict[str, Any]]]:
        """The idle heartbeat: whether a person has paused this worker, and its repositories.

        These are the repositories of own models. full_disk: why no job is begun.
        """
        answer = self._call("alive", json={"boot_id": boot_id, "full_disk": full_disk})
        return bool(answer.get("paused")), list(answer.get("repositories", []))

    def repository(
        self, key: str, revision: int, benchmarks: list[dict[str, Any]], problem: str
    ) -> None:
        """Report what a repository of own models offers, and what is wrong with it."""
        body = {
            "key": key,
            "revision": revision,
            "benchmarks": benchmarks,
            "problem": problem[-20_000:],
        }
        self._call("repositories", json=body)

    def claim(self, job_id: str, attempt: int, boot_id: str) -> Claim:
        """Waits for the site for as long as it takes. StaleAttempt: the job cannot be claimed."""
        body = {"attempt": attempt, "boot_id": boot_id}
        answer = self._call(_job_path(job_id, "claim"), FOREVER_S, json=body)
        return _parse(Claim.read, answer)

    def waiting(
        self, job_id: str, attempt: int, boot_id: str, patience_s: float = 0, held_by: str = ""
    ) -> float | None:
        """Ask whether a claim would be answered now. StaleAttempt: no, drop the job.

        held_by: who has the device that the job waits for.
        Returns the seconds that the job is expected to take; None: not known.
        """
        body = {"attempt": attempt, "boot_id": boot_id, "held_by": held_by[:300]}
        answer = self._call(_job_path(job_id, "waiting"), patience_s, json=body)
        expected_s = answer.get("expected_s")  # an older site has none
        return None if expected_s is None else float(expected_s)

    def hand_back(self, job_id: str, attempt: int, counts: bool) -> None:
        """Have a claimed job queued again at once; whether the attempt counts."""
        self._call(_job_path(job_id, "hand-back"), json={"attempt": attempt, "counts": counts})

    def heartbeat(self, job_id: str, attempt: int, phase: str, log_tail: str) -> bool:
        """Report the phase; return whether the job is to be cancelled. log_tail: at most 16 kB."""
        body = {"attempt": attempt, "phase": phase, "log_tail": log_tail}
        answer = self._call(_job_path(job_id, "heartbeat"), json=body)
        return bool(answer.get("cancel"))

    def requirements(
        self, job_id: str, attempt: int, platform: str, text: str, patience_s: float = 0
    ) -> str:
        """Report the pinned set that was resolved for a job; the answer is the set that counts."""
        body = {"attempt": attempt, "platform": platform, "text": text}
        answer = self._call(_job_path(job_id, "requirements"), patience_s, json=body)
        return _parse(lambda fields: str(fields["text"]), answer)

    def environments(self, reports: Sequence[dict[str, Any]], patience_s: float = 0) -> None:
        """Report environments whose state has changed."""
        self._call("environments", patience_s, json={"environments": list(reports)})

    def result(self, job_id: str, packed: bytes, patience_s: float = 0) -> str:
        """Deliver a gzipped result body; returns the job's state after it."""
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = self._call(
            _job_path(job_id, "result"),
            patience_s,
            content=packed,
            headers=headers,
            timeout=UPLOAD_S,
        )
        return str(answer.get("state", ""))

    def artifact(
        self, job_id: str, attempt: int, name: str, content: bytes, patience_s: float = 0
    ) -> None:
        self._call(
            _job_path(job_id, f"artifacts/{quote(name, safe='')}"),
            patience_s,
            "PUT",
            params={"attempt": attempt},
            content=content,
            headers={"Content-Type": "application/octet-stream"},
            timeout=UPLOAD_S,
        )

    def _call(
        self, path: str, patience_s: float = 0, method: str = "POST", **request: Any
    ) -> dict[str, Any]:
        """Send a request, again while the site is unreachable and the call has patience."""
        deadline = time.monotonic() + patience_s
        longest_pause_s = FIRST_PAUSE_S
        while True:
            try:
                return self._send(method, path, **request)
            except Unreachable:
                left_s = deadline - time.monotonic()
                pause_s = random.uniform(0.05, longest_pause_s)  # noqa: S311
                if left_s <= 0 or self.stopping.wait(min(pause_s, left_s)):
                    raise
                longest_pause_s = min(longest_pause_s * 2, LONGEST_PAUSE_S)

    def _send(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        try:
            response = self._client.request(method, path, **request)
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise Unreachable(f"{method} {self.url}{API}/{path}: {reason}") from error
        if response.status_code != 200:
            raise _refusal(response)
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise Unreachable(
                f"{response.url} answered 200 without JSON: is SITE_URL the address of "
                "Compilewatch?"
            )
        return answer


def _parse(read: Callable[[dict[str, Any]], Answer], answer: dict[str, Any]) -> Answer:
    try:
        return read(answer)
    except (KeyError, TypeError, ValueError) as error:
        raise SiteError(
            f"the site's answer is not as agreed ({error!r}): are worker and site of one version?"
        ) from error


def _job_path(job_id: str, call: str) -> str:
    return f"jobs/{quote(job_id, safe='')}/{call}"


def _refusal(response: httpx.Response) -> SiteError:
    """The exception that a status other than 200 means."""
    status = response.status_code
    answer = f"{response.request.method} {response.url} answered {status}: "
    if response.is_redirect:
        location = response.headers.get("location", "")
        return NotAllowed(f"{answer}{location}. Set SITE_URL to the address that it names")
    try:
        answer += str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        answer += response.text[:500]
    if status in {401, 403}:
        return NotAllowed(
            f"{answer}. Set WORKER_TOKEN to this worker's token; the site's admin can make a new "
            "one"
        )
    if status == 409:
        return StaleAttempt(answer)
    if status >= 500 or status in TEMPORARY_STATUSES:
        return Unreachable(answer)
    return RequestRefused(answer)
