"""Comparisons of two builds: started, followed, and what came of them."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, CHANGE_RUN, READ, caller_of
from dashboard.catalog.core.plan import Selection, require_known
from dashboard.catalog.selectors import lookups
from dashboard.catalog.selectors.lookups import named_build, only_machine
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core import upgrade_report
from dashboard.comparisons.core.candidate_verdicts import Safety
from dashboard.comparisons.core.judgement import JUDGED_METRICS, PART_METRICS, State
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors import candidates
from dashboard.comparisons.selectors import comparisons as comparisons_read
from dashboard.comparisons.services.comparisons import (
    REPEATS,
    cancel_comparison,
    measure_more,
    start_comparison,
)
from dashboard.language.metrics import METRICS
from dashboard.models import Comparison
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Names, Text, one
from dashboard.ui.api.schemas import Counts, Paged, Stopped, absolute

router = Router(auth=READ, tags=["comparisons"])


class ComparisonFilter(FilterSchema):
    base: Annotated[Name | None, FilterLookup("base__label")] = None
    new: Annotated[Name | None, FilterLookup("new__label")] = None
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    track: Annotated[Name | None, FilterLookup("track__key")] = None


class ComparisonOut(Paged):
    """Two builds measured in turn, process by process, on one machine under one library set.

    track: of release candidates, where it started the comparison; else null.
    """

    id: UUID = Field(alias="uuid")
    label: str
    base: str = Field(alias="base.label")
    new: str = Field(alias="new.label")
    machine: str = Field(alias="machine.key")
    track: str | None = Field(None, alias="track.key")
    repeats: int = Field(description="Processes for each case and build.")
    libraries: dict[str, str]
    created_by: str | None = Field(None, alias="created_by.username")
    created_at: datetime


class ComparisonProgress(ComparisonOut):
    state: str = Field(alias="progress.state", description="As a run's.")
    jobs: Counts = Field(alias="progress.counts")
    is_active: bool = Field(alias="progress.is_active")
    seconds_left: float | None = Field(alias="progress.seconds_left")


class ModelSafety(Schema):
    """One model in one mode."""

    title: str
    safety: Safety
    sentences: list[str]


class CandidateOut(Schema):
    """A move to the new build, model by model: safe where the judgement passed, not safe where it
    is a regression, else not known. why_none: why there is no model; else empty. so_far: how much
    has ended, while it is measured; else empty.
    """

    text: str
    models: list[ModelSafety]
    why_none: str
    so_far: str
    url: str


class Start(Schema):
    """What to compare. Without models, families and benchmarks: the default selection of the
    machine's size.
    """

    base: Name = Field(
        description="A label of a build; a version is enough where one build has it."
    )
    new: Name
    machine: Text = Field("", description="A key; may be left out where there is one machine.")
    models: Names = []
    families: Names = []
    benchmarks: Names = []
    configs: Names = []
    repeats: int = Field(REPEATS, ge=1, le=MAX_REPEATS)
    label: Text = Field("", max_length=200)


class More(Schema):
    repeats: int = Field(ge=1, le=MAX_REPEATS)


class Gated(Schema):
    metric: Names = list(JUDGED_METRICS)


class GateOut(Schema):
    """exit_code: 0 passed, 1 a regression, 3 not known yet. advice: what would make it known.
    so_far: how much has ended, while it is measured; else empty.
    """

    state: State
    exit_code: int
    sentence: str
    advice: str
    processes_needed: int | None
    regressions: list[dict[str, Any]]
    unknown: list[dict[str, Any]]
    improvements: list[dict[str, Any]]
    unchanged: int
    broken: list[str]
    not_compared: list[dict[str, str]]
    so_far: str
    markdown: str
    url: str


class CaseKernels(Schema):
    """Which kernels account for the change of one case, by one job of each side: that whose device
    time is nearest the median.
    """

    benchmark: str
    config: str
    metric: str
    sentence: str
    base_job: UUID
    new_job: UUID


class Answered(Schema):
    """Every case in every metric, and the answer in words. flavours: what else differs where the
    builds are of different flavours (CPU, CUDA). address: of the page. kernels: of the cases whose
    latency or device time changed. so_far: how much has ended, while it is measured; else empty.
    """

    question: str
    answer: str
    sentence: str
    so_far: str
    flavours: str
    address: str
    models: dict[str, dict[str, str]]
    cases: list[dict[str, Any]]
    kernels: list[CaseKernels]


@router.get("comparisons", response=list[ComparisonOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[ComparisonFilter]) -> QuerySet[Comparison]:
    """Comparisons, the newest first."""
    return chosen.filter(comparisons_read.listing())


@router.post("comparisons", response={201: ComparisonProgress}, auth=ADD_RUN)
def start(request: HttpRequest, body: Start) -> Any:
    """Measure two builds in turn; follow it at `GET comparisons/{id}`."""
    machine = only_machine(body.machine)
    benchmarks = [*body.benchmarks, *lookups.benchmarks_of_models(body.models, machine)]
    comparison = start_comparison(
        base=named_build(body.base, machine).label,
        new=named_build(body.new, machine).label,
        machine=machine.key,
        selection=Selection(tuple(body.families), tuple(benchmarks), tuple(body.configs)),
        repeats=body.repeats,
        label=body.label,
        user=caller_of(request),
    )
    return Status(201, _with_progress(comparison))


@router.get("comparisons/{uuid:uuid}", response=ComparisonProgress)
def show(request: HttpRequest, uuid: UUID) -> Comparison:
    """One comparison and how far it is."""
    return _with_progress(_comparison(uuid))


@router.get("comparisons/{uuid:uuid}/report", response=Answered)
def full_report(request: HttpRequest, uuid: UUID) -> dict[str, Any]:
    """Should we upgrade, and what will it cost? From what has been measured so far."""
    comparison = _comparison(uuid)
    report = comparisons_read.report(comparison)
    return upgrade_report.document(
        report,
        comparisons_read.kernels(comparison, report),
        comparisons_read.subject(comparison, absolute(comparison.get_absolute_url())),
    )


@router.get("comparisons/{uuid:uuid}/report.md")
def markdown(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The same as Markdown, for a pull request or a mail."""
    comparison = _comparison(uuid)
    report = comparisons_read.report(comparison)
    text = upgrade_report.markdown(
        report,
        comparisons_read.kernels(comparison, report),
        comparisons_read.subject(comparison, absolute(comparison.get_absolute_url())),
    )
    return HttpResponse(text, content_type="text/markdown; charset=utf-8")


@router.get("comparisons/{uuid:uuid}/gate", response=GateOut)
def gate(request: HttpRequest, uuid: UUID, chosen: Query[Gated]) -> dict[str, Any]:
    """May this change go in? From what has been measured so far; `metric` may be given again."""
    require_known("metric", chosen.metric, list(METRICS))
    comparison = _comparison(uuid)
    metrics = {*PART_METRICS, *chosen.metric}
    base, new = comparisons_read.sides(comparison, metrics)
    decision = gating.decide(base, new, chosen.metric)
    address = absolute(comparison.get_absolute_url())
    so_far = comparisons_read.so_far(comparison)
    text = gating.markdown(
        decision,
        base=str(comparison.base),
        new=str(comparison.new),
        machine=comparison.machine.key,
        address=address,
        notes=(so_far, comparisons_read.flavours(comparison)),
    )
    return {**gating.document(decision), "so_far": so_far, "markdown": text, "url": address}


@router.get("comparisons/{uuid:uuid}/safety", response=CandidateOut)
def safety(request: HttpRequest, uuid: UUID) -> dict[str, Any]:
    """Is the new build, of a release candidate or another one, safe for these models? From what has
    been measured so far.
    """
    comparison = _comparison(uuid)
    verdicts = candidates.verdicts(comparison)
    return {
        "text": verdicts.text,
        "models": verdicts.models,
        "why_none": verdicts.why_none,
        "so_far": comparisons_read.so_far(comparison),
        "url": absolute(comparison.get_absolute_url()),
    }


@router.post("comparisons/{uuid:uuid}/cancel", response=Stopped, auth=CHANGE_RUN)
def cancel(request: HttpRequest, uuid: UUID) -> dict[str, int]:
    """Cancel what has not ended."""
    return {"jobs": cancel_comparison(comparison=_comparison(uuid))}


@router.post("comparisons/{uuid:uuid}/more", response=ComparisonProgress, auth=ADD_RUN)
def more(request: HttpRequest, uuid: UUID, body: More) -> Comparison:
    """Measure every case again on both builds, so that what is not known yet becomes known."""
    comparison = _comparison(uuid)
    measure_more(comparison=comparison, repeats=body.repeats)
    return _with_progress(comparison)


def _comparison(uuid: UUID) -> Comparison:
    return one(comparisons_read.listing(), "comparison", uuid=uuid)


def _with_progress(comparison: Comparison) -> Comparison:
    """With the attribute that ComparisonProgress reads."""
    progress = comparisons_read.progress(comparison, timezone.now())
    comparison.progress = progress  # type: ignore[attr-defined]
    return comparison
