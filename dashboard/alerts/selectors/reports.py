"""The report of one alert: the ready issue and the archive of its evidence, from the same jobs."""

from dataclasses import dataclass

from dashboard.alerts.core.ready_issue import IssueFacts, ReadyIssue, write
from dashboard.alerts.selectors import (
    alert_page,
    alerts,
    collected_evidence,
    evidence_bundle,
    evidence_jobs,
)
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.collected_evidence import CollectedEvidence
from dashboard.alerts.selectors.evidence_bundle import Bundle
from dashboard.alerts.selectors.ready_issue import issue_facts
from dashboard.models import AlertGroup

NOT_FROM_IMPORTS = "Another system measured this: there is nothing of it to report to PyTorch."


@dataclass(frozen=True, slots=True)
class Report:
    """bundle: what the archive consists of; its files are read when it is written."""

    group: AlertGroup
    issue: ReadyIssue
    bundle: Bundle
    collected: CollectedEvidence


def report_of(main: AlertSummary) -> Report:
    """The report about one alert of a group."""
    group = _group(main)
    sides = evidence_jobs.sides(main.alert)
    rows = alerts.of_group(group)
    issue = write(issue_facts(group, alerts.standing(rows), main, sides))
    text = f"# {issue.title}\n\n{issue.body}"
    collected = collected_evidence.of_group(group, [row.alert for row in rows])
    bundle = evidence_bundle.contents(main.alert, sides, text, collected)
    return Report(group, issue, bundle, collected)


def facts_of_report(main: AlertSummary) -> IssueFacts:
    """What the ready issue is made of, without the archive."""
    group = _group(main)
    sides = evidence_jobs.sides(main.alert)
    return issue_facts(group, alerts.standing(alerts.of_group(group)), main, sides)


def _group(main: AlertSummary) -> AlertGroup:
    return alert_page.groups().get(pk=main.alert.group_id)
