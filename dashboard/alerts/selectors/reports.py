"""The facts that report an alert upstream."""

from dashboard.alerts.core.ready_issue import IssueFacts
from dashboard.alerts.selectors import alert_page, alerts, evidence_jobs
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.ready_issue import issue_facts

NOT_OURS = "Another system measured this: there is nothing of it to report to PyTorch."


def facts_of_report(main: AlertSummary) -> IssueFacts:
    """Facts that the ready issue is made of."""
    group = alert_page.groups().get(pk=main.alert.group_id)
    rows = alerts.standing(alerts.of_group(group))
    return issue_facts(group, rows, main, evidence_jobs.sides(main.alert))
