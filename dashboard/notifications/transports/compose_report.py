"""The message of the triage report. Its text part is the report's Markdown."""

from dataclasses import asdict
from typing import Any

from django.template.loader import render_to_string

from dashboard.alerts.core.triage_report import (
    MOST_LINES,
    RATES_NOTE,
    ReportedAlert,
    TriageReport,
    markdown,
)
from dashboard.language.moments import day
from dashboard.notifications.transports.compose import SCHEMA
from dashboard.notifications.transports.message import Message


def report_message(report: TriageReport, rule: str, site: str, url: str) -> Message:
    """rule: by which it is sent. site: the address that links begin with. url: of its page."""
    days = f"{day(report.start)} to {day(report.end)}"
    subject = f"Triage, {days}: {report.headline}"
    footer = f"Sent by Compilewatch by the rule “{rule}”."
    context = {
        "report": report,
        "late": report.late[:MOST_LINES],
        "more_late": max(len(report.late) - MOST_LINES, 0),
        "new": report.new[:MOST_LINES],
        "more_new": max(len(report.new) - MOST_LINES, 0),
        "site": site,
        "url": url,
        "subject": subject,
        "footer": footer,
        "rates_note": RATES_NOTE,
    }
    return Message(
        subject=subject,
        text=f"{markdown(report, site)}\n{url}\n\n{footer}",
        html=render_to_string("notifications/report.html", context),
        url=url,
        document={
            "schema": SCHEMA,
            "kind": "report",
            "subject": subject,
            "url": url,
            "at": report.end.isoformat(timespec="seconds"),
            "alerts": [],
            "report": _document(report, site),
        },
    )


def _document(report: TriageReport, site: str) -> dict[str, Any]:
    """As in webhook.v1.json."""
    workloads = []
    for load in report.people:
        oldest = load.oldest.isoformat(timespec="seconds")
        workloads.append({**asdict(load), "oldest": oldest})
    return {
        "start": report.start.isoformat(timespec="seconds"),
        "open": report.open,
        "new": [_alert(alert, site) for alert in report.new],
        "late": [_alert(alert, site) for alert in report.late],
        "gone": dict(report.gone),
        "closed": dict(report.closed),
        "people": workloads,
    }


def _alert(alert: ReportedAlert, site: str) -> dict[str, Any]:
    return {
        "id": alert.number,
        "url": f"{site}{alert.path}",
        "title": alert.title,
        "severity": alert.severity,
        "state": alert.state,
        "assignee": alert.assignee or None,
        "due_at": alert.due_at.isoformat(timespec="seconds") if alert.due_at else None,
    }
