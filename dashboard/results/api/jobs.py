"""Jobs: how each ended, everything that it reported, and its raw samples."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema
from ninja.pagination import paginate

from dashboard.accounts.access import READ
from dashboard.models import Job, JobState, Status
from dashboard.results.core import kernel_words
from dashboard.results.core.kernel_diff import KernelChange, KernelDiff
from dashboard.results.selectors import jobs as jobs_read
from dashboard.results.selectors import kernels as kernels_read
from dashboard.runs.core.reproduce import command
from dashboard.ui.api import schemas
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name
from dashboard.ui.api.schemas import Paged
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["jobs"])


class JobFilter(FilterSchema):
    run: int | None = None
    state: JobState | None = None
    status: Status | None = None
    benchmark: Annotated[Name | None, FilterLookup("benchmark__name")] = None
    config: Annotated[Name | None, FilterLookup("config__name")] = None
    build: Annotated[Name | None, FilterLookup("run__build__label")] = None
    machine: Annotated[Name | None, FilterLookup("run__machine__key")] = None


class JobOut(Paged):
    """One case on one build on one machine, once."""

    id: UUID = Field(alias="uuid")
    run: int = Field(alias="run_id")
    benchmark: str = Field(alias="benchmark.name")
    config: str = Field(alias="config.name")
    build: str = Field(alias="run.build.label")
    machine: str = Field(alias="run.machine.key")
    state: str
    status: str
    message: str
    attempt: int
    worker: str | None = Field(None, alias="worker.name")
    phase: str
    planned_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None


class JobDetail(JobOut):
    """A job with all that it reported, and the command that repeats it."""

    log_tail: str = Field(
        description="The end of what the job printed: text of programs, not of this site."
    )
    reproduce: str = Field(description="The command that repeats it by hand.")
    result: dict[str, Any] | None = Field(
        description="The document (result.v1) without its samples, its units in the names of "
        "metrics; null where the job brought none."
    )

    @staticmethod
    def resolve_result(job: Job) -> dict[str, Any] | None:
        result = getattr(job, "result", None)
        return result.document if result else None

    @staticmethod
    def resolve_reproduce(job: Job) -> str:
        document = JobDetail.resolve_result(job) or {}
        return command(job.spec, document.get("reproduce", ""))


class KernelChangeOut(Schema):
    """Kernels that are taken for the same, or for each other's replacement; times and calls are of
    a step.
    """

    match: str = Field(
        description="By what they are taken for the same: source, name, role, replacement; "
        "else new, gone or not listed."
    )
    role: str = Field(description="Name without numbers.")
    kind: str = Field(
        description="triton, matmul, convolution, attention, copy, communication, operator or "
        "other."
    )
    base: list[str] = Field(description="Names on the older side.")
    new: list[str] = Field(description="Names on the newer side.")
    base_calls: float = Field(description="Number of calls in a step, older side.")
    new_calls: float = Field(description="Number of calls in a step, newer side.")
    base_ms: float = Field(description="Milliseconds of a step, older side.")
    new_ms: float = Field(description="Milliseconds of a step, newer side.")
    ms: float = Field(description="New minus base, in milliseconds of a step.")

    @staticmethod
    def resolve_base(change: KernelChange) -> list[str]:
        return [kernel.name for kernel in change.base]

    @staticmethod
    def resolve_new(change: KernelChange) -> list[str]:
        return [kernel.name for kernel in change.new]


class KernelDiffOut(Schema):
    """How the kernels of one arm differ, by one profile of each job."""

    arm: str = Field(description="eager or compiled.")
    device: str = Field(alias="new.device", description="On which kind of device.")
    base_ms: float = Field(
        alias="base.total_ms", description="Milliseconds of a step, all kernels, older side."
    )
    new_ms: float = Field(
        alias="new.total_ms", description="Milliseconds of a step, all kernels, newer side."
    )
    sentence: str = Field(description="What differs, in words.")
    changes: list[KernelChangeOut] = Field(description="What takes more time first.")

    @staticmethod
    def resolve_sentence(diff: KernelDiff) -> str:
        return kernel_words.sentence(diff)


@router.get("jobs", response=list[JobOut])
@paginate(Pages, ordering=("-planned_at", "-pk"))
def listing(request: HttpRequest, chosen: Query[JobFilter]) -> QuerySet[Job]:
    """Jobs, those planned last first."""
    related = ("run__build", "run__machine", "benchmark", "config", "worker")
    return chosen.filter(Job.objects.select_related(*related).defer("spec", "log_tail"))


@router.get("jobs/{uuid:uuid}", response=JobDetail)
def show(request: HttpRequest, uuid: UUID) -> Job:
    """One job with the result that it brought, and the command that repeats it by hand."""
    one(Job.objects.all(), "job", pk=uuid)
    return jobs_read.job(uuid)


@router.get("jobs/{uuid:uuid}/samples", response=list[schemas.Arm])
def samples(request: HttpRequest, uuid: UUID) -> Iterable[Any]:
    """The raw samples of each arm, eager first; none where their retention has ended."""
    one(Job.objects.all(), "job", pk=uuid)
    return [
        {
            "name": arm.name,
            "single": arm.single,
            "values": arm.values.tolist(),
            "order": None if arm.order is None else arm.order.tolist(),
        }
        for arm in jobs_read.arms(uuid)
    ]


@router.get("jobs/{uuid:uuid}/kernels", response=list[KernelDiffOut])
def kernels(request: HttpRequest, uuid: UUID, base: UUID) -> list[KernelDiff]:
    """Which kernels account for what a step of this job takes more or less than one of the job
    `base`; none where not both were profiled.
    """
    for job in (uuid, base):
        one(Job.objects.all(), "job", pk=job)
    profiles = kernels_read.profiles_of([uuid, base])
    return kernels_read.diffs_of(profiles.get(base, {}), profiles.get(uuid, {}))
