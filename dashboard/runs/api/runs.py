"""Runs: triggered, followed, cancelled, retried."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, CHANGE_RUN, READ, caller_of
from dashboard.catalog.core.plan import Selection, budget
from dashboard.catalog.selectors.lookups import (
    benchmarks_of_models,
    find_track,
    named_build,
    only_machine,
)
from dashboard.models import Machine, Purpose, Run, RunState, TorchBuild, Track
from dashboard.runs.selectors import runs as runs_read
from dashboard.runs.services.runs import cancel_run, plan_run, retry_failed_jobs, trigger_run
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Names, Text
from dashboard.ui.api.schemas import Paged, Progress, Request, Stopped
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["runs"])


class RunFilter(FilterSchema):
    state: RunState | None = None
    purpose: Purpose | None = None
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    track: Annotated[Name | None, FilterLookup("track__key")] = None
    build: Annotated[Name | None, FilterLookup("build__label")] = None


class RunOut(Paged):
    """One trigger on one build: many jobs."""

    id: int
    label: str
    purpose: str
    state: str = Field(description="planned, queued, running, completed, failed or cancelled.")
    build: str = Field(alias="build.label")
    machine: str = Field(alias="machine.key")
    track: str = Field(alias="track.key")
    created_by: str | None = Field(None, alias="created_by.username")
    created_at: datetime
    finished_at: datetime | None


class RunProgress(Progress, RunOut):
    """A run and how far it is."""


class Trigger(Request):
    """What to measure. Without models, families and benchmarks: the machine's default selection."""

    build: Name = Field(
        description="A label, as 2.13.0+cpu; a version is enough where one build has it."
    )
    machine: Text = Field("", description="A key; may be left out where there is one machine.")
    track: Name = "local"
    models: Names = Field([], description="Names of models.", examples=[["gpt2"]])
    families: Names = Field([], description="Names of families of models.")
    benchmarks: Names = Field([], description="Names of benchmarks.")
    configs: Names = Field(
        [], description="Names of configs; none: the default ones of each benchmark."
    )
    label: Text = Field("", max_length=200)


class Planned(Schema):
    """What a trigger would measure, and what that costs."""

    build: str
    machine: str
    cases: list[tuple[str, str]] = Field(description="Benchmark and config of each job.")
    jobs: int = Field(description="Number of jobs.")
    expected_s: float = Field(
        description="Seconds of one worker's time, roughly, without installing the build: the "
        "budget of each job, not a measurement."
    )


@router.get("runs", response=list[RunOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[RunFilter]) -> QuerySet[Run]:
    """Runs, the newest first."""
    return chosen.filter(runs_read.listing())


@router.post("runs", response={201: RunProgress}, auth=ADD_RUN)
def trigger(request: HttpRequest, body: Trigger) -> Any:
    """Trigger a run; follow it at `GET runs/{id}`."""
    requested = _requested(body)
    run = trigger_run(
        build=requested.build.label,
        machine=requested.machine.key,
        track=requested.track.key,
        families=requested.selection.families,
        benchmarks=requested.selection.benchmarks,
        configs=requested.selection.configs,
        label=body.label,
        user=caller_of(request),
    )
    return Status(201, progress_of(run.pk))


@router.post("runs/plan", response=Planned, auth=READ)
def plan(request: HttpRequest, body: Trigger) -> dict[str, Any]:
    """What `POST runs` would measure and how long that takes, without measuring it."""
    requested = _requested(body)
    machine = requested.machine.key
    cases = plan_run(machine=machine, selection=requested.selection, check_training=True)
    cost = budget(cases, {})
    return {
        "build": requested.build.label,
        "machine": machine,
        "cases": [(case.benchmark, case.config) for case in cases],
        "jobs": cost.jobs,
        "expected_s": cost.expected_s,
    }


@router.get("runs/{int:pk}", response=RunProgress)
def show(request: HttpRequest, pk: int) -> Run:
    """One run and how far it is. Ask again every few seconds to follow it; with `If-None-Match`
    that costs little.
    """
    return progress_of(pk)


@router.post("runs/{int:pk}/cancel", response=Stopped, auth=CHANGE_RUN)
def cancel(request: HttpRequest, pk: int) -> dict[str, int]:
    """Cancel what has not ended; a job that runs stops within seconds."""
    return {"jobs": cancel_run(run=one(Run.objects.all(), "run", pk=pk))}


@router.post("runs/{int:pk}/retry", response=Stopped, auth=CHANGE_RUN)
def retry(request: HttpRequest, pk: int) -> dict[str, int]:
    """Queue the jobs again that brought no result."""
    return {"jobs": retry_failed_jobs(run=one(Run.objects.all(), "run", pk=pk))}


class _Requested(NamedTuple):
    machine: Machine
    selection: Selection
    build: TorchBuild
    track: Track


def _requested(body: Trigger) -> _Requested:
    """What the body names, checked alike for a run and for its plan. Raises PlanError."""
    machine = only_machine(body.machine)
    benchmarks = [*body.benchmarks, *benchmarks_of_models(body.models, machine)]
    return _Requested(
        machine,
        Selection(tuple(body.families), tuple(benchmarks), tuple(body.configs)),
        named_build(body.build, machine),
        find_track(body.track),
    )


def progress_of(pk: int) -> Run:
    run = one(runs_read.listing(), "run", pk=pk)
    # RunProgress reads it
    run.progress = runs_read.progress(run, timezone.now())  # type: ignore[attr-defined]
    return run
