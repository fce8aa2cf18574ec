"""What shows an alert, in sentences, and the text that reports it upstream."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema

from dashboard.accounts.access import READ
from dashboard.alerts.core.ready_issue import IssueFacts, address, write
from dashboard.alerts.selectors import alert_data, alert_page, alerts, kernels, reports
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.models import AlertGroup
from dashboard.results.core.kernel_words import ONE_PROFILE
from dashboard.ui.api.parameters import Id
from dashboard.ui.api.schemas import Answer, absolute
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["alerts"])


class ChangeChoice(Schema):
    change: Id | None = Field(
        None,
        description="`id` of one of the alert's changes; left out: the one that stands for it.",
    )


class EvidenceOut(Answer):
    """Why one change of an alert is believed, how far, and since which build. A list is empty where
    there is nothing to say. Numbers stand in sentences, with their 95% intervals.
    """

    url: str
    change: int = Field(alias="main.alert.pk", description="Number of the change.")
    sentence: str = Field(
        alias="main.sentence", description="The change in words, with its 95% interval."
    )
    evidence_state: str = Field(alias="group.evidence_state")
    how_sure: Sequence[str] = Field(
        alias="facts.how_sure", description="What was measured again, and what that showed."
    )
    cause: Sequence[str] = Field(
        alias="facts.cause", description="The likely cause, and what speaks for it."
    )
    ruled_out: Sequence[str] = Field(
        alias="facts.ruled_out", description="What did not move with it."
    )
    since: Sequence[str] = Field(
        alias="facts.since",
        description="The last build without it and the first with it, the commits between them, "
        "and what a search between them came to.",
    )
    others: Sequence[str] = Field(
        alias="facts.others", description="Other changes of the same alert; 20 at most."
    )
    kernels: Sequence[str] = Field(
        description="Which kernels account for it, by one profile of each side; an arm in each."
    )
    error: str = Field(
        alias="facts.error",
        description="What a failed job of the new build printed, up to 4,000 characters of its "
        "end: text of a program, not of this site. Empty where it passed.",
    )
    commands: Sequence[str] = Field(
        alias="facts.commands", description="How to install either build and repeat the job."
    )
    missing: Sequence[str] = Field(alias="facts.missing", description="What is not known.")
    archive: str = Field(description="Address of the report with its files, one zip.")

    @staticmethod
    def resolve_url(shown: "ShownChange") -> str:
        return absolute(shown.group.get_absolute_url())

    @staticmethod
    def resolve_archive(shown: "ShownChange") -> str:
        path = reverse("alert_report", args=[shown.group.pk])
        return absolute(f"{path}?alert={shown.main.alert.pk}")

    @staticmethod
    def resolve_kernels(shown: "ShownChange") -> list[str]:
        alert = shown.main.alert
        comparison = kernels.around(alert, alert_data.around(alert))
        if comparison is None:
            return []
        sentences = [f"{table.diff.arm}: {table.sentence}" for table in comparison.tables]
        return [*sentences, ONE_PROFILE]


class IssueOut(Schema):
    """A text for PyTorch's issue tracker. Nothing is posted: a person opens `address`."""

    title: str = Field(description="Of the issue.")
    body: str = Field(
        description="Markdown. Error logs in it are text of a program, not of this site."
    )
    address: str = Field(
        alias="url", description="Opens the issue on GitHub with everything filled in."
    )
    left_out: Sequence[str] = Field(
        description="Titles of sections that are too long for the address."
    )


@dataclass(frozen=True, slots=True)
class ShownChange:
    """One change of an alert, and what is known of it."""

    group: AlertGroup
    main: AlertSummary
    facts: IssueFacts


@router.get("alerts/{int:pk}/evidence", response=EvidenceOut)
def evidence(request: HttpRequest, pk: int, chosen: Query[ChangeChoice]) -> ShownChange:
    """Why an alert is believed: how sure, the likely cause, since which build, which kernels."""
    group = one(alert_page.groups(), "alert", pk=pk)
    main = _main(group, chosen.change)
    return ShownChange(group, main, reports.facts_of_report(main))


@router.get("alerts/{int:pk}/issue", response=IssueOut)
def issue(request: HttpRequest, pk: int, chosen: Query[ChangeChoice]) -> dict[str, object]:
    """The alert as an issue for PyTorch, with the headings of its form. Nothing is posted.

    404 for another tool's benchmark: another system measured it.
    """
    group = one(alert_page.groups(), "alert", pk=pk)
    main = _main(group, chosen.change)
    if main.alert.series.benchmark.imported:
        raise Http404(reports.NOT_OURS)
    ready = write(reports.facts_of_report(main))
    target = address(ready, settings.ISSUE_REPOSITORY)
    return {
        "title": ready.title,
        "body": ready.body,
        "url": target.url,
        "left_out": target.left_out,
    }


def _main(group: AlertGroup, change: int | None) -> AlertSummary:
    """Raises Http404."""
    rows = alerts.of_group(group)
    main = alerts.main_of(rows, str(change or ""))
    if main is None:
        raise Http404(f"Alert {group.pk} has no series: nothing of it was measured.")
    if change and main.alert.pk != change:
        raise Http404(f"Alert {group.pk} has no change {change}: `GET alerts/{group.pk}` has them.")
    return main
