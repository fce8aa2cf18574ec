"""Comparisons of two builds: started, followed, and what came of them."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, CHANGE_RUN, READ, caller_of
from dashboard.catalog.core.plan import Selection, require_known
from dashboard.catalog.selectors import lookups
from dashboard.catalog.selectors.lookups import named_build, only_machine
from dashboard.comparisons.core import gate as gating
from dashboard.comparisons.core.judgement import JUDGED_METRICS, PART_METRICS
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors import candidates
from dashboard.comparisons.selectors import comparisons as comparisons_read
from dashboard.comparisons.services.comparisons import (
    REPEATS,
    cancel_comparison,
    measure_more,
    plan_comparison,
    start_comparison,
)
from dashboard.judgement.changes import Grade, SetVerdict, Verdict
from dashboard.language.metrics import METRICS
from dashboard.models import Comparison
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Names, Text
from dashboard.ui.api.schemas import Paged, Progress, Request, Stopped, absolute
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["comparisons"])


class ComparisonFilter(FilterSchema):
    base: Annotated[Name | None, FilterLookup("base__label")] = Field(
        None, description="Label of the older build, in full: 2.11.0+cpu."
    )
    new: Annotated[Name | None, FilterLookup("new__label")] = Field(
        None, description="Label of the newer build, in full."
    )
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    track: Annotated[Name | None, FilterLookup("track__key")] = None


class ComparisonOut(Paged):
    """Two builds measured in turn, process by process, on one machine under one library set."""

    id: UUID = Field(alias="uuid", description="As in its address.")
    label: str
    base: str = Field(alias="base.label")
    new: str = Field(alias="new.label")
    machine: str = Field(alias="machine.key")
    track: str | None = Field(
        None,
        alias="track.key",
        description="Of release candidates, the track that started the comparison; else null.",
    )
    repeats: int = Field(description="Number of processes for each case and build.")
    libraries: dict[str, str] = Field(
        description="Versions of the libraries of both builds; empty: each build's own."
    )
    created_by: str | None = Field(None, alias="created_by.username")
    created_at: datetime


class ComparisonProgress(Progress, ComparisonOut):
    """A comparison and how far it is."""

    state: str = Field(
        alias="progress.state",
        description="planned, queued, running, completed, failed or cancelled.",
    )


class ModelSafety(Schema):
    """One model in one mode."""

    title: str = Field(description="Name of the model, and the mode.")
    verdict: SetVerdict = Field(description="worse, better, mixed, same or unclear.")
    grade: Grade | None = Field(description="certain or likely; null: nothing changed.")
    sentences: list[str] = Field(description="Why, with numbers and their 95% intervals.")


class CandidateOut(Schema):
    """A move to the new build, model by model."""

    text: str = Field(description="The answer in one sentence.")
    models: list[ModelSafety] = Field(description="What needs a decision first.")
    why_none: str = Field(description="Why there is no model; else empty.")
    so_far: str = Field(description="How much has ended, while it is measured; else empty.")
    url: str


class Start(Request):
    """What to compare. Without models, families and benchmarks: the default selection of the
    machine's size.
    """

    base: Name = Field(
        description="A label of a build; a version is enough where one build has it.",
        examples=["2.11.0"],
    )
    new: Name = Field(description="The newer one, in the same way.", examples=["2.13.0"])
    machine: Text = Field("", description="A key; may be left out where there is one machine.")
    models: Names = Field([], description="Names of models.", examples=[["gpt2"]])
    families: Names = Field([], description="Names of families of models.")
    benchmarks: Names = Field([], description="Names of benchmarks.")
    configs: Names = Field(
        [], description="Names of configs; none: the default ones of each benchmark."
    )
    repeats: int = Field(
        REPEATS,
        ge=1,
        le=MAX_REPEATS,
        description="Processes for each case and build. From three on a change has an "
        "interval; from six on it can be certain.",
    )
    label: Text = Field("", max_length=200, description="Shown as its title; may be empty.")


class PlannedComparison(Schema):
    """What `POST comparisons` would measure, and what that costs."""

    base: str = Field(alias="comparison.base.label")
    new: str = Field(alias="comparison.new.label")
    machine: str = Field(alias="comparison.machine.key")
    cases: list[tuple[str, str]] = Field(description="Benchmark and config of each case.")
    jobs: int = Field(
        description="Number of jobs: each case in each build, `repeats` times; more where the new "
        "build is also measured under its own libraries."
    )
    expected_s: float = Field(
        description="Seconds of one worker's time, roughly, without installing builds: the budget "
        "of each job, not a measurement."
    )

    @staticmethod
    def resolve_cases(plan: Any) -> list[tuple[str, str]]:
        return [(case.benchmark, case.config) for case in plan.cases]


class More(Request):
    repeats: int = Field(
        ge=1, le=MAX_REPEATS, description="Further processes for each case and build."
    )


class Gated(Schema):
    metric: Names = Field(
        list(JUDGED_METRICS), description="Keys of the metrics that decide; may be repeated."
    )


class GateFinding(Schema):
    """One metric of one case in both builds."""

    benchmark: str
    config: str
    metric: str
    unit: str = Field(description="Of `base` and `new`.")
    base: float = Field(description="The level of the older build, in `unit`.")
    new: float = Field(description="The level of the newer build, in `unit`.")
    verdict: Verdict = Field(description="worse, better, same or unclear.")
    grade: Grade | None = Field(description="certain or likely; null: it is not a change.")
    change: str = Field(description="In words, with its 95% interval where it has one.")
    percent: float | None = Field(description="New against base, in percent.")
    low_percent: float | None = Field(
        description="Lower end of the 95% interval, in percent; null: there is none."
    )
    high_percent: float | None = Field(description="Upper end of it, in percent.")
    pairs: int = Field(
        description="Number of pairs: processes of both builds that ran next to each other."
    )
    base_processes: int = Field(description="Number of processes of the older build.")
    new_processes: int = Field(description="Number of processes of the newer build.")
    which_part: str = Field(description="Whether eager moved as well, or the compiled part alone.")


class GraphBreak(Schema):
    benchmark: str
    config: str
    location: str = Field(description="file:line in function; empty: not known.")
    reason: str = Field(description="As the compiler reports it.")


class NotCompared(Schema):
    benchmark: str
    config: str
    why: str = Field(description="In words.")


class GateOut(Schema):
    """May this change go in? What is unclear or likely worse is neither a regression nor a pass."""

    verdict: SetVerdict = Field(description="worse, better, mixed, same or unclear.")
    grade: Grade | None = Field(description="certain or likely; null: nothing changed.")
    exit_code: int = Field(
        description="Code for a shell: 0 nothing got worse, 1 certainly worse, 2 measurement not "
        "possible, 3 unclear, or likely worse."
    )
    sentence: str = Field(description="The answer in a line.")
    advice: str = Field(description="What would decide what is open; empty where nothing is.")
    step_bound_percent: float | None = Field(
        description="How much slower any step can be that did not get worse; null: not known."
    )
    pairs_needed: int | None = Field(
        description="Pairs of each case that should decide it; null: nothing is open, or no "
        "affordable number decides."
    )
    worse: list[GateFinding] = Field(description="What got worse.")
    unclear: list[GateFinding] = Field(description="What can still be worse.")
    better: list[GateFinding] = Field(description="What got better.")
    same: int = Field(description="Number of results that are not worse by the threshold.")
    broken: list[str] = Field(description="Cases that fail now and passed on the base.")
    new_graph_breaks: list[GraphBreak] = Field(
        description="Of cases with more graph breaks: those that the base does not have."
    )
    not_measured: list[str] = Field(
        description="Cases for which one side lacks torch, a library or a device, with why."
    )
    not_compared: list[NotCompared] = Field(description="Cases that only one side has.")
    so_far: str = Field(description="How much has ended, while it is measured; else empty.")
    markdown: str = Field(description="The answer for a pull request.")
    url: str


@router.get("comparisons", response=list[ComparisonOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[ComparisonFilter]) -> QuerySet[Comparison]:
    """Comparisons, the newest first."""
    return chosen.filter(comparisons_read.listing())


@router.post("comparisons", response={201: ComparisonProgress}, auth=ADD_RUN)
def start(request: HttpRequest, body: Start) -> Any:
    """Measure two builds in turn; follow it at `GET comparisons/{id}`."""
    comparison = start_comparison(
        **_sides_and_cases(body), label=body.label, user=caller_of(request)
    )
    return Status(201, _with_progress(comparison))


@router.post("comparisons/plan", response=PlannedComparison, auth=READ)
def plan(request: HttpRequest, body: Start) -> Any:
    """What `POST comparisons` would measure and how long that takes, without measuring it."""
    return plan_comparison(**_sides_and_cases(body))


@router.get("comparisons/{uuid:uuid}", response=ComparisonProgress)
def show(request: HttpRequest, uuid: UUID) -> Comparison:
    """One comparison and how far it is."""
    return _with_progress(_comparison(uuid))


@router.get("comparisons/{uuid:uuid}/gate", response=GateOut)
def gate(request: HttpRequest, uuid: UUID, chosen: Query[Gated]) -> dict[str, Any]:
    """May this change go in? From what has been measured so far; `metric` may be given again."""
    require_known("metric", chosen.metric, list(METRICS))
    comparison = _comparison(uuid)
    metrics = {*PART_METRICS, *chosen.metric}
    base, new = comparisons_read.sides(comparison, metrics)
    decision = gating.decide(base, new, chosen.metric)
    decision = comparisons_read.with_graph_breaks(comparison, decision)
    address = absolute(comparison.get_absolute_url())
    so_far = comparisons_read.so_far(comparison)
    text = gating.markdown(
        decision,
        base=str(comparison.base),
        new=str(comparison.new),
        machine=comparison.machine.key,
        address=address,
        notes=(so_far, comparisons_read.differences(comparison)),
    )
    return {**gating.document(decision), "so_far": so_far, "markdown": text, "url": address}


@router.get("comparisons/{uuid:uuid}/safety", response=CandidateOut)
def safety(request: HttpRequest, uuid: UUID) -> dict[str, Any]:
    """What the new build, of a release candidate or another one, does to each model, from what has
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
    """Measure every case again on both builds, so that what is unclear is decided."""
    comparison = _comparison(uuid)
    measure_more(comparison=comparison, repeats=body.repeats)
    return _with_progress(comparison)


def _sides_and_cases(body: Start) -> dict[str, Any]:
    """What the services take. Raises PlanError."""
    machine = only_machine(body.machine)
    benchmarks = [*body.benchmarks, *lookups.benchmarks_of_models(body.models, machine)]
    return {
        "base": named_build(body.base, machine).label,
        "new": named_build(body.new, machine).label,
        "machine": machine.key,
        "selection": Selection(tuple(body.families), tuple(benchmarks), tuple(body.configs)),
        "repeats": body.repeats,
    }


def _comparison(uuid: UUID) -> Comparison:
    return one(comparisons_read.listing(), "comparison", uuid=uuid)


def _with_progress(comparison: Comparison) -> Comparison:
    """With the attribute that ComparisonProgress reads."""
    progress = comparisons_read.progress(comparison, timezone.now())
    comparison.progress = progress  # type: ignore[attr-defined]
    return comparison
