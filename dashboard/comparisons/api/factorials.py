"""Factorials: planned, started and followed, and which factor moved the number."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Schema, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, CHANGE_RUN, READ, caller_of
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.comparisons.core import factorial_report
from dashboard.comparisons.core.factorial_words import cell_text, exchange_text
from dashboard.comparisons.core.shortfall import MAX_REPEATS
from dashboard.comparisons.selectors import factorials as factorials_read
from dashboard.comparisons.selectors.factorial_plan import FactorialPlan, plan_factorial
from dashboard.comparisons.services.factorials import (
    REPEATS,
    cancel_factorial,
    measure_rounds,
    start_factorial,
)
from dashboard.models import Factorial
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Text
from dashboard.ui.api.schemas import Paged, Progress, Request, Stopped, absolute
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["factorials"])
Levels = Annotated[list[Name], Field(max_length=10)]


class FactorialFilter(FilterSchema):
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    benchmark: Annotated[Name | None, FilterLookup("benchmark__name")] = None


class FactorialOut(Paged):
    """One case in every combination of some factors' levels, measured in turn on one machine."""

    id: UUID = Field(alias="uuid", description="As in its address.")
    label: str
    machine: str = Field(alias="machine.key")
    benchmark: str = Field(alias="benchmark.name")
    config: str = Field(alias="config.name")
    repeats: int = Field(description="Number of rounds: processes of each arm.")
    factors: list[dict[str, Any]] = Field(description="What is exchanged, each with its levels.")
    arms: list[dict[str, Any]] = Field(
        description="The combinations that are measured. `cell`: the place of each factor's level."
    )
    excluded: list[dict[str, Any]] = Field(
        description="Combinations that are impossible, each with the reason."
    )
    created_by: str | None = Field(None, alias="created_by.username")
    created_at: datetime


class FactorialProgress(Progress, FactorialOut):
    """A factorial and how far it is."""

    state: str = Field(
        alias="progress.state",
        description="planned, queued, running, completed, failed or cancelled.",
    )


class FactorialRequest(Request):
    """What to exchange, of one case."""

    machine: Text = Field("", description="A key; may be left out where there is one machine.")
    benchmark: Name = Field(description="Name of a benchmark.")
    config: Name = Field("inductor", description="Name of a config.")
    levels: dict[str, Levels] = Field(
        description="Of `torch` (versions or labels), `cuda` (`cu128`), a library (versions) and "
        "`variant` (the part of a label after the `~`; `none`: without one). Two or three of them "
        "with two or three levels; a name with one level is the same in every arm.",
        examples=[{"torch": ["2.11.0", "2.13.0"], "transformers": ["5.17.0", "5.23.0"]}],
    )
    repeats: int = Field(
        REPEATS, ge=1, le=MAX_REPEATS, description="Number of rounds: processes of each arm."
    )
    label: Text = Field("", max_length=200, description="What people call it; may be left out.")


class FactorialPlanned(Schema):
    """What would be measured."""

    arms: list[str] = Field(description="The combinations, in words.")
    excluded: list[dict[str, str]] = Field(
        description="Combinations that are impossible: `arm`, and `why`."
    )
    effects: list[str] = Field(description="What these arms can show, in words.")
    aliased: list[str] = Field(description="Effects that these arms cannot show.")
    processes: int = Field(
        description="Number of processes of the effect that rests on fewest, of the side that has "
        "fewer; six make a change certain."
    )
    jobs: int = Field(description="Number of jobs.")
    expected_s: float = Field(
        description="Seconds of one worker's time, roughly, without installing builds: the budget "
        "of each job, not a measurement."
    )
    to_install: int = Field(
        description="Number of environments that no worker of the machine has yet."
    )


class Rounds(Request):
    """How much more to measure."""

    repeats: int = Field(ge=1, le=MAX_REPEATS, description="Number of further rounds.")


class FactorialReport(Schema):
    """Which factor moved it, from what has been measured so far."""

    answer: str = Field(description="The answer in a word or two.")
    sentence: str = Field(description="The answer with its numbers; empty while nothing is known.")
    so_far: str = Field(description="How much has ended, while it is measured; else empty.")
    metrics: list[dict[str, Any]] = Field(
        description="Each with its effects and their 95% intervals, what the arms cannot show, and "
        "the arms' own values, in its `unit`."
    )
    left_out: list[dict[str, str]] = Field(
        description="Combinations without a value: `arm`, and `why`."
    )
    url: str


@router.get("factorials", response=list[FactorialOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[FactorialFilter]) -> QuerySet[Factorial]:
    """Factorials, the newest first."""
    return chosen.filter(factorials_read.listing())


@router.post("factorials/plan", response=FactorialPlanned)
def plan(request: HttpRequest, body: FactorialRequest) -> dict[str, Any]:
    """What a factorial would measure and could show, and what it costs; nothing is started."""
    planned = _plan(body)
    factors = planned.factors
    excluded = []
    for out in planned.excluded:
        excluded.append({"arm": cell_text(factors, out.cell), "why": out.why})
    return {
        "arms": [cell_text(factors, arm.cell) for arm in planned.arms],
        "excluded": excluded,
        "effects": [exchange_text(factors, each) for each in planned.estimable.effects],
        "aliased": [exchange_text(factors, each) for each in planned.estimable.aliased],
        "processes": planned.fewest,
        "jobs": planned.cost.jobs,
        "expected_s": planned.cost.expected_s,
        "to_install": planned.to_install,
    }


@router.post("factorials", response={201: FactorialProgress}, auth=ADD_RUN)
def start(request: HttpRequest, body: FactorialRequest) -> Any:
    """Measure every combination in turn; follow it at `GET factorials/{id}`."""
    factorial = start_factorial(plan=_plan(body), label=body.label, user=caller_of(request))
    return Status(201, _with_progress(factorial))


@router.get("factorials/{uuid:uuid}", response=FactorialProgress)
def show(request: HttpRequest, uuid: UUID) -> Factorial:
    """One factorial and how far it is."""
    return _with_progress(_factorial(uuid))


@router.get("factorials/{uuid:uuid}/report", response=FactorialReport)
def full_report(request: HttpRequest, uuid: UUID) -> dict[str, Any]:
    """Which factor moved it?"""
    factorial = _factorial(uuid)
    results = factorials_read.results(factorial)
    metrics = []
    for analysis in results.analyses.values():
        metrics.append(factorial_report.document(analysis, results.factors))
    return {
        "answer": results.answer.word if results.answer else "Not known yet",
        "sentence": results.answer.sentence if results.answer else "",
        "so_far": results.so_far,
        "metrics": metrics,
        "left_out": [{"arm": out.arm, "why": out.why} for out in results.left_out],
        "url": absolute(factorial.get_absolute_url()),
    }


@router.post("factorials/{uuid:uuid}/cancel", response=Stopped, auth=CHANGE_RUN)
def cancel(request: HttpRequest, uuid: UUID) -> dict[str, int]:
    """Cancel what has not ended."""
    return {"jobs": cancel_factorial(factorial=_factorial(uuid))}


@router.post("factorials/{uuid:uuid}/more", response=FactorialProgress, auth=ADD_RUN)
def more(request: HttpRequest, uuid: UUID, body: Rounds) -> Factorial:
    """Measure every arm in further rounds, so that what is not known yet becomes known."""
    factorial = _factorial(uuid)
    measure_rounds(factorial=factorial, repeats=body.repeats)
    return _with_progress(factorial)


def _plan(body: FactorialRequest) -> FactorialPlan:
    return plan_factorial(
        machine=only_machine(body.machine).key,
        benchmark=body.benchmark,
        config=body.config,
        levels=body.levels,
        repeats=body.repeats,
    )


def _factorial(uuid: UUID) -> Factorial:
    return one(factorials_read.listing(), "factorial", uuid=uuid)


def _with_progress(factorial: Factorial) -> Factorial:
    """With the attribute that FactorialProgress reads."""
    progress = factorials_read.progress(factorial, timezone.now())
    factorial.progress = progress  # type: ignore[attr-defined]
    return factorial
