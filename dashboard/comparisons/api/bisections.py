"""Bisections: searches between two builds for where one case changed, started, followed and
cancelled.
"""

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, FilterLookup, FilterSchema, Query, Router, Status
from ninja.pagination import paginate

from dashboard.accounts.access import ADD_RUN, CHANGE_RUN, READ, caller_of
from dashboard.catalog.selectors.lookups import only_machine
from dashboard.comparisons.selectors import bisections as bisections_read
from dashboard.comparisons.services.bisections import cancel_bisection, start_bisection
from dashboard.models import Bisection
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Text
from dashboard.ui.api.schemas import Counts, Paged, Request
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["bisections"])


class BisectionFilter(FilterSchema):
    state: Bisection.State | None = None
    machine: Annotated[Name | None, FilterLookup("machine__key")] = None
    benchmark: Annotated[Name | None, FilterLookup("benchmark__name")] = None


class BisectionOut(Paged):
    """The search for the pair of neighbouring builds between which one case changed."""

    id: int
    base: str = Field(alias="base.label")
    new: str = Field(alias="new.label")
    low: str = Field(
        alias="low.label", description="Label of the newest build that is known to be like base."
    )
    high: str = Field(
        alias="high.label", description="Label of the oldest build that is known to be like new."
    )
    machine: str = Field(alias="machine.key")
    benchmark: str = Field(alias="benchmark.name")
    config: str = Field(alias="config.name")
    metric: str
    state: str = Field(description="running, found, inconclusive, failed or cancelled.")
    message: str
    created_by: str | None = Field(None, alias="created_by.username")
    created_at: datetime
    finished_at: datetime | None


class BisectionProgress(BisectionOut):
    """A search and how far it is."""

    label: str
    steps: list[dict[str, Any]] = Field(
        description="The builds that were measured, and which end each is like."
    )
    commit_range: str = Field(
        description="Address of PyTorch's commits between `low` and `high`; empty: not known."
    )
    jobs: Counts = Field(alias="progress.counts")
    is_active: bool
    seconds_left: float | None = Field(alias="progress.seconds_left")
    builds_left: int = Field(
        alias="progress.builds_left",
        description="Number of further builds that are measured, at most.",
    )

    @staticmethod
    def resolve_label(bisection: Bisection) -> str:
        return str(bisection)

    @staticmethod
    def resolve_is_active(bisection: Bisection) -> bool:
        return bisection.state == Bisection.State.RUNNING

    @staticmethod
    def resolve_commit_range(bisection: Bisection) -> str:
        return bisections_read.commit_range(bisection)


class Search(Request):
    """What changed between which builds."""

    base: Name = Field(description="The older build; a version is enough where one build has it.")
    new: Name
    machine: Text = Field("", description="A key; may be left out where there is one machine.")
    benchmark: Name
    config: Name
    metric: Name = Field("latency_ms", description="`passed`: where the case began to fail.")


@router.get("bisections", response=list[BisectionOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[BisectionFilter]) -> QuerySet[Bisection]:
    """Searches, the newest first."""
    return chosen.filter(bisections_read.listing())


@router.post("bisections", response={201: BisectionProgress}, auth=ADD_RUN)
def start(request: HttpRequest, search: Search) -> Any:
    """Begin a search; follow it at `GET bisections/{id}`."""
    case = search.model_dump(exclude={"machine"})
    machine = only_machine(search.machine)
    bisection = start_bisection(**case, machine=machine.key, user=caller_of(request))
    return Status(201, _progress(bisection.pk))


@router.get("bisections/{int:pk}", response=BisectionProgress)
def show(request: HttpRequest, pk: int) -> Bisection:
    """One search and how far it is."""
    return _progress(pk)


@router.post("bisections/{int:pk}/cancel", response=BisectionProgress, auth=CHANGE_RUN)
def cancel(request: HttpRequest, pk: int) -> Bisection:
    """Stop a search that runs; what was measured stays."""
    bisection = _bisection(pk)
    if bisection.state == Bisection.State.RUNNING:
        cancel_bisection(bisection=bisection)
    return _progress(pk)


def _bisection(pk: int) -> Bisection:
    return one(bisections_read.listing(), "bisection", pk=pk)


def _progress(pk: int) -> Bisection:
    """The search, with the attribute that BisectionProgress reads."""
    bisection = _bisection(pk)
    progress = bisections_read.progress(bisection, timezone.now())
    bisection.progress = progress  # type: ignore[attr-defined]
    return bisection
