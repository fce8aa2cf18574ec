"""The worker API (docs/architecture.md). Each worker signs in with its own token."""

from typing import Any, Literal, cast
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from ninja import Field, Router, Schema
from ninja.security import HttpBearer

from dashboard.models import Worker
from dashboard.results.services import artifacts, ingest
from dashboard.runs.selectors.runs import expected_job_seconds
from dashboard.runs.services import environments, fleet, leases, own_models
from dashboard.ui.api.parameters import Moment


class WorkerToken(HttpBearer):
    """`Authorization: Bearer <token>`; the worker is then `request.auth`."""

    def authenticate(self, request: HttpRequest, token: str) -> Worker | None:
        return fleet.worker_of_token(token)


class WorkerCatalog(Schema):
    benchmarks: list[dict[str, Any]] = Field(max_length=10_000)
    configs: list[dict[str, Any]] = Field(max_length=1_000)


class ReportedEnvironment(Schema):
    key: str = Field(min_length=1, max_length=64)
    build: str = Field(max_length=200)
    state: Literal["building", "ready", "failed", "damaged", "evicted"]
    libraries: dict[str, str] = {}
    adopted: bool = False
    message: str = Field("", max_length=4_000)
    size_mb: int | None = Field(None, ge=0, lt=2**31)
    last_used: Moment | None = None
    facts: dict[str, Any] = {}


class ReportedEnvironments(Schema):
    environments: list[ReportedEnvironment] = Field(max_length=1_000)


class Hello(Schema):
    boot_id: str = Field(min_length=1, max_length=64)
    device: str = Field(max_length=40)
    facts: dict[str, Any] = {}
    full_disk: str = Field(
        "", max_length=300, description="Why its disk has no room for a job; empty: it has."
    )
    catalog: WorkerCatalog
    builds: list[dict[str, Any]] = Field([], max_length=1_000)
    environments: list[ReportedEnvironment] = Field([], max_length=1_000)


class Greeting(Schema):
    worker: str
    machine: str
    queue: str
    own_queue: str
    paused: bool
    heartbeat_s: float
    lease_s: float


class Boot(Schema):
    boot_id: str = Field(min_length=1, max_length=64)


class IdleHeartbeat(Boot):
    full_disk: str = Field(
        "", max_length=300, description="Why its disk has no room for a job; empty: it has."
    )


class Claim(Boot):
    attempt: int = Field(ge=1)


class WaitingJob(Claim):
    held_by: str = Field("", max_length=300, description="Who has the device that it waits for.")


class Claimed(Schema):
    job: dict[str, Any]
    environment: dict[str, Any]
    lease_s: float
    heartbeat_s: float
    timeout_s: float


class HandBack(Schema):
    attempt: int = Field(ge=1)
    counts: bool = Field(
        True, description="Whether the attempt counts; false where the disk was full."
    )


class Waiting(Schema):
    state: str
    expected_s: float | None


class Heartbeat(Schema):
    attempt: int = Field(ge=1)
    phase: str = ""
    log_tail: str = ""


class Pinned(Schema):
    attempt: int = Field(ge=1)
    platform: str = Field(min_length=1, max_length=80)
    text: str


class Text(Schema):
    text: str


class Noted(Schema):
    noted: int


class Repository(Schema):
    key: str
    url: str
    commit: str
    revision: int


class Alive(Schema):
    paused: bool
    repositories: list[Repository]


class OwnModels(Schema):
    key: str = Field(max_length=60)
    revision: int = Field(ge=1)
    benchmarks: list[dict[str, Any]] = Field([], max_length=1_000)
    problem: str = Field("", max_length=20_000)


class Cancel(Schema):
    cancel: bool


class ReportedState(Schema):
    state: str


class Stored(Schema):
    digest: str


router = Router(auth=WorkerToken(), tags=["worker"])
LOG_TAIL_CHARACTERS = 16 * 1024


@router.post("hello", response=Greeting)
def hello(request: HttpRequest, body: Hello) -> dict[str, Any]:
    """A worker has started. A new boot_id voids its running claims."""
    worker = worker_of(request)
    fleet.hello(worker=worker, **body.model_dump())
    return {
        "worker": worker.name,
        "machine": worker.machine.key,
        "queue": worker.machine.queue,
        "own_queue": worker.queue,
        "paused": worker.paused,
        "heartbeat_s": settings.HEARTBEAT_S,
        "lease_s": settings.LEASE_S,
    }


@router.post("alive", response=Alive)
def alive(request: HttpRequest, body: IdleHeartbeat) -> dict[str, Any]:
    """The idle heartbeat; the repositories of own models as they are pinned now."""
    paused = fleet.idle_heartbeat(worker=worker_of(request), **body.model_dump())
    return {"paused": paused, "repositories": own_models.pinned_repositories()}


@router.post("repositories", response=Noted)
def report_repository(request: HttpRequest, body: OwnModels) -> dict[str, int]:
    """What a repository offers at a revision, as this worker read it."""
    return {"noted": own_models.record_repository(worker=worker_of(request), **body.model_dump())}


@router.post("environments", response=Noted)
def report_environments(request: HttpRequest, body: ReportedEnvironments) -> dict[str, int]:
    """Environments whose state has changed."""
    environments.record_environments(worker=worker_of(request), **body.model_dump())
    return {"noted": len(body.environments)}


@router.post("jobs/{uuid:job_id}/waiting", response=Waiting)
def waiting(request: HttpRequest, job_id: UUID, body: WaitingJob) -> dict[str, Any]:
    """Whether a claim would be answered now, and how long the job is expected to take."""
    job = leases.check_waiting(job_id=job_id, worker=worker_of(request), **body.model_dump())
    return {"state": "queued", "expected_s": expected_job_seconds(job)}


@router.post("jobs/{uuid:job_id}/claim", response=Claimed)
def claim(request: HttpRequest, job_id: UUID, body: Claim) -> dict[str, Any]:
    """Take a queued job, at its current attempt."""
    worker = worker_of(request)
    job = leases.claim(job_id=job_id, attempt=body.attempt, worker=worker, boot_id=body.boot_id)
    device = worker.device or job.spec["device"]
    return {
        "job": {**job.spec, "attempt": body.attempt, "device": device},
        "environment": environments.environment_for(job=job, worker=worker),
        "lease_s": settings.LEASE_S,
        "heartbeat_s": settings.HEARTBEAT_S,
        "timeout_s": job.spec["timeout_s"],
    }


@router.post("jobs/{uuid:job_id}/requirements", response=Text)
def requirements(request: HttpRequest, job_id: UUID, body: Pinned) -> dict[str, str]:
    """What the job's environment is made from. The answer counts: the set that was kept first."""
    worker = worker_of(request)
    return {
        "text": environments.keep_requirements(job_id=job_id, worker=worker, **body.model_dump())
    }


@router.post("jobs/{uuid:job_id}/heartbeat", response=Cancel)
def heartbeat(request: HttpRequest, job_id: UUID, body: Heartbeat) -> dict[str, bool]:
    """Keep the lease; learn whether the job is to be cancelled."""
    cancel = leases.heartbeat(
        job_id=job_id,
        attempt=body.attempt,
        worker=worker_of(request),
        phase=body.phase,
        log_tail=body.log_tail[-LOG_TAIL_CHARACTERS:],
    )
    return {"cancel": cancel}


@router.post("jobs/{uuid:job_id}/hand-back", response=ReportedState)
def hand_back(request: HttpRequest, job_id: UUID, body: HandBack) -> dict[str, str]:
    """The worker cannot measure the job: it is queued again at once."""
    leases.hand_back(job_id=job_id, worker=worker_of(request), **body.model_dump())
    return {"state": "queued"}


@router.post("jobs/{uuid:job_id}/result", response=ReportedState)
def result(request: HttpRequest, job_id: UUID) -> dict[str, str]:
    """How the job ended; the body is gzip or plain JSON."""
    # Read here, because Django's limit for forms is far below ours
    body = read_body(request, settings.RESULT_LIMIT_BYTES)
    return {"state": ingest.ingest(job_id=job_id, worker=worker_of(request), body=body)}


@router.put("jobs/{uuid:job_id}/artifacts/{name}", response=Stored)
def artifact(request: HttpRequest, job_id: UUID, name: str, attempt: int) -> dict[str, str]:
    """A file that the job left: its generated code, its trace."""
    content = read_body(request, settings.ARTIFACT_LIMIT_BYTES)
    digest = artifacts.store_artifact(
        job_id=job_id, attempt=attempt, worker=worker_of(request), name=name, content=content
    )
    return {"digest": digest}


def worker_of(request: HttpRequest) -> Worker:
    return cast(Worker, request.auth)  # type: ignore[attr-defined]  # set by ninja


def read_body(request: HttpRequest, limit: int) -> bytes:
    """The body, at most one byte more than `limit`: services refuse that as too large."""
    return request.read(limit + 1)
