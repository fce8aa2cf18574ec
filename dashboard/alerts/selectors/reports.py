"""The report of one alert: the ready issue and its files, from the same jobs."""

from dataclasses import dataclass

from dashboard.alerts.core.ready_issue import IssueFacts, ReadyIssue, write
from dashboard.alerts.core.report_files import ReportPart
from dashboard.alerts.selectors import alert_page, alerts, collected_evidence, evidence_jobs
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.collected_evidence import CollectedEvidence
from dashboard.alerts.selectors.ready_issue import issue_facts
from dashboard.alerts.selectors.report_files import parts
from dashboard.models import AlertGroup

NOT_OURS = "Another system measured this: there is nothing of it to report to PyTorch."


@dataclass(frozen=True, slots=True)
class Report:
    """files: are read when they are packed."""

    group: AlertGroup
    issue: ReadyIssue
    files: list[ReportPart]
    collected: CollectedEvidence


def report_of(main: AlertSummary) -> Report:
    """The report about one alert of a group."""
    group = alert_page.groups().get(pk=main.alert.group_id)
    sides = evidence_jobs.sides(main.alert)
    rows = alerts.of_group(group)
    issue = write(issue_facts(group, alerts.standing(rows), main, sides))
    files = parts(sides, f"# {issue.title}\n\n{issue.body}")
    collected = collected_evidence.of_group(group, [row.alert for row in rows])
    return Report(group, issue, files, collected)


def facts_of_report(main: AlertSummary) -> IssueFacts:
    """Facts that the ready issue is made of."""
    group = alert_page.groups().get(pk=main.alert.group_id)
    rows = alerts.standing(alerts.of_group(group))
    return issue_facts(group, rows, main, evidence_jobs.sides(main.alert))
