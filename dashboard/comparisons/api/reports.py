"""Should we move to this build? From a comparison, or from all that is stored of two builds."""

from typing import Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from ninja import Field, Query, Router, Schema

from dashboard.accounts.access import READ
from dashboard.catalog.core.plan import require_known
from dashboard.comparisons.core import upgrade_report
from dashboard.comparisons.core.upgrade_groups import UpgradeReport
from dashboard.comparisons.core.upgrade_report import ReportSubject
from dashboard.comparisons.selectors import case_kernels
from dashboard.comparisons.selectors import comparisons as comparisons_read
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.side_choice import (
    Choice,
    NotMeasuredError,
    RequestedSide,
    choose_sides,
    other_differences_of,
)
from dashboard.comparisons.selectors.stored_reports import stored_report
from dashboard.judgement.changes import Basis, Grade, Verdict
from dashboard.language.metrics import METRICS
from dashboard.models import Comparison
from dashboard.ui.api.parameters import Name, Names
from dashboard.ui.api.schemas import absolute
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["comparisons"])
NOTHING = "Fewer than two builds were measured here: there is nothing to compare."


class Narrowing(Schema):
    """Which part of the report; its answers stay those of all cases."""

    model: Names = Field([], description="Names of models; may be repeated. Left out: all.")
    show: Literal["all", "changed"] = Field(
        "all", description="Of the cases: all, or those that changed."
    )


class StoredSides(Narrowing):
    """Two builds of one machine."""

    base: Name = Field(description="The older build; a version is enough.", examples=["2.11.0"])
    new: Name = Field(description="The newer build; a version is enough.", examples=["2.13.0"])
    machine: Name | None = Field(
        None, description="Key of a machine; left out: the one with the most builds."
    )


class CaseKernels(Schema):
    """Which kernels account for the change of one case, by one job of each side, whose device time
    is near the median.
    """

    benchmark: str
    config: str
    metric: str
    sentence: str = Field(description="Which kernels, in words.")
    base_job: UUID = Field(description="Of the older build.")
    new_job: UUID = Field(description="Of the newer build.")


class ModelAnswer(Schema):
    """Of one model in one mode."""

    answer: str = Field(description="worse, better, mixed, same or unclear; certain or likely.")
    sentence: str = Field(description="Why, with 95% intervals.")


class ReportedCase(Schema):
    """One metric of one case in both builds. Numbers are null where the case was left out."""

    benchmark: str
    config: str
    family: str
    mode: str
    metric: str
    unit: str = Field(description="Of `base` and `new`.")
    base: float | None = Field(description="The level of the older build, in `unit`.")
    new: float | None = Field(description="The level of the newer build, in `unit`.")
    change_percent: float | None = Field(description="New against base, in percent.")
    low_percent: float | None = Field(
        description="Lower end of the 95% interval, in percent; null: there is none."
    )
    high_percent: float | None = Field(description="Upper end of it, in percent.")
    verdict: Verdict | None = Field(description="worse, better, same or unclear.")
    grade: Grade | None = Field(description="certain or likely; null: it is not a change.")
    basis: Basis | None = Field(
        description="pairs: measured in turn on one device. none: a difference without a verdict."
    )
    pairs: int | None = Field(
        description="Number of pairs: processes of both builds that ran next to each other."
    )
    base_processes: int | None = Field(description="Number of processes of the older build.")
    new_processes: int | None = Field(description="Number of processes of the newer build.")
    in_eager_percent: float | None = Field(
        description="How much eager changed in the same processes, in percent."
    )
    compiled_only_percent: float | None = Field(
        description="How much the compiled part changed beyond eager, in percent."
    )
    left_out: str = Field(description="Why it was not compared; empty: it was.")


class Answered(Schema):
    """The answer in words, that of each model, and every case in every metric."""

    question: str = Field(description="What is answered.")
    answer: str = Field(description="For all models together.")
    sentence: str = Field(description="Why, with 95% intervals.")
    so_far: str = Field(description="How much has ended, while it is measured; else empty.")
    differences: str = Field(
        description="What differs besides torch's version: flavour (CPU, CUDA), environment."
    )
    address: str = Field(description="Of the page.")
    models: dict[str, ModelAnswer] = Field(
        description='By model and mode: "gpt2 training". Training and inference are not averaged.'
    )
    cases: list[ReportedCase] = Field(description="Metric by metric, the largest changes first.")
    kernels: list[CaseKernels] = Field(
        description="Of the cases whose latency or device time changed; 40 at most."
    )


@router.get("compare", response=Answered)
def stored(request: HttpRequest, sides: Query[StoredSides]) -> dict[str, Any]:
    """Should we move from one build to another? From all that is stored of both on one machine,
    also where nobody measured them in turn; measures nothing.
    """
    choice = _choice(sides)
    report = stored_report(choice, METRICS["latency_ms"], any_libraries=False).report
    names = {"base": sides.base, "new": sides.new, "machine": choice.new.tested.machine_key}
    address = absolute(reverse("compare", query=names))
    subject = ReportSubject(choice.question, address, other_differences_of(choice))
    kernels = case_kernels.sentences(report, choice.base.measured, choice.new.measured)
    return _narrowed(upgrade_report.document(report, kernels, subject), report, sides)


@router.get("comparisons/{uuid:uuid}/report", response=Answered)
def full_report(request: HttpRequest, uuid: UUID, part: Query[Narrowing]) -> dict[str, Any]:
    """Should we upgrade, and what will it cost? From what a comparison has measured so far."""
    comparison = _comparison(uuid)
    report = comparisons_read.report(comparison)
    document = upgrade_report.document(
        report,
        comparisons_read.kernels(comparison, report),
        comparisons_read.subject(comparison, absolute(comparison.get_absolute_url())),
    )
    return _narrowed(document, report, part)


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


def _choice(sides: StoredSides) -> Choice:
    """Raises Http404."""
    machine = sides.machine or ""
    base = RequestedSide(sides.base, machine, track="", config="")
    new = RequestedSide(sides.new, machine, track="", config="")
    try:
        choice = choose_sides(base, new, measured_builds())
    except NotMeasuredError as error:
        raise Http404(str(error)) from None
    if choice is None:
        raise Http404(NOTHING)
    return choice


def _narrowed(document: dict[str, Any], report: UpgradeReport, part: Narrowing) -> dict[str, Any]:
    require_known("model", part.model, sorted({group.name for group in report.models}))
    only_changed = part.show == "changed"
    return upgrade_report.narrowed(document, report, part.model, only_changed=only_changed)


def _comparison(uuid: UUID) -> Comparison:
    return one(comparisons_read.listing(), "comparison", uuid=uuid)
