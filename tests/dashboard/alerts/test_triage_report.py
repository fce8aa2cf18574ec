"""The triage report: one builder, three renderings."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dashboard.alerts.core.triage_report import TriageReport, markdown
from dashboard.alerts.selectors.triage_report import build_report
from dashboard.models import AlertGroup
from tests.builders import alerting
from tests.builders.people import viewer
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
NOW = timezone.now()
SITE = "https://watch.example"


def group(days_ago: float, **fields: Any) -> AlertGroup:
    """A confirmed group that was opened so many days ago."""
    made = alerting.group(**{"state": "confirmed", **fields})
    AlertGroup.objects.filter(pk=made.pk).update(created_at=NOW - timedelta(days=days_ago))
    return made


def report() -> TriageReport:
    return build_report(NOW - timedelta(days=7), NOW)


def test_new_are_those_of_the_period_that_are_open_the_worst_first() -> None:
    group(30, title="old")
    group(2, title="medium")
    group(1, title="high", severity="high")
    assert [alert.title for alert in report().new] == ["high", "medium"]


def test_opened_and_closed_again_is_counted_by_state() -> None:
    group(1, state="not_reproduced", closed_at=NOW)
    assert report().gone_sentence == "Opened and closed again: 1 not reproduced."


def test_closed_counts_whenever_it_was_opened() -> None:
    group(30, state="fixed", closed_at=NOW - timedelta(days=1))
    group(30, state="fixed", closed_at=NOW - timedelta(days=20))
    assert report().closed == [("fixed", 1)]


def test_late_says_by_how_much_the_longest_first() -> None:
    group(9, title="a little", due_at=NOW - timedelta(hours=5))
    group(9, title="much", due_at=NOW - timedelta(days=3))
    group(9, title="in time", due_at=NOW + timedelta(days=3))
    late = [(alert.title, alert.late_text) for alert in report().late]
    assert late == [("much", "3 days"), ("a little", "5 h")]


def test_each_person_has_a_line_and_nobody_the_last() -> None:
    ada = viewer("ada")
    group(9)
    group(9)
    group(8, assignee=ada, due_at=NOW - timedelta(days=1))
    people = [(load.assignee, load.open, load.late) for load in report().people]
    assert people == [("ada", 1, 1), ("", 2, 0)]


def test_improvements_are_left_out() -> None:
    group(1, direction="improvement")
    assert report().headline == "0 new, 0 late, 0 open"


def test_rates_are_those_of_the_accuracy_page() -> None:
    made = group(1)
    alerting.alert(made, confirmation="confirmed", seen_at=NOW)
    (month,) = report().months
    assert (month.rates.raised, month.rates.right, month.rates.wrong) == (1, 1, 0)


def test_markdown_has_every_section_and_links_to_the_site() -> None:
    made = group(1, title="gpt2 [slow]", due_at=NOW - timedelta(days=2))
    shown = markdown(report(), SITE)
    assert f"[{made.pk}: gpt2 (slow)]({SITE}/alerts/{made.pk}/)" in shown
    headings = [line for line in shown.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Late",
        "## New",
        "## Who has what",
        "## Closed",
        "## How often we were wrong",
    ]


def test_report_of_a_quiet_week_says_so() -> None:
    shown = markdown(report(), SITE)
    for sentence in ("Nothing new is open.", "Nothing is late.", "Nothing was closed."):
        assert sentence in shown


def test_page_and_markdown_show_the_same_alerts(reader: Client) -> None:
    made = group(1, title="the slow one", due_at=NOW - timedelta(days=2))
    page = text(reader, "/alerts/report/")
    assert made.get_absolute_url() in page
    assert "2 days" in page
    answer = reader.get("/alerts/report.md")
    assert answer.headers["Content-Type"].startswith("text/markdown")
    assert "the slow one" in answer.content.decode()


def test_report_names_evidence_and_assignee_as_the_inbox_does(reader: Client) -> None:
    made = group(1, workflow_state="acknowledged", due_at=NOW + timedelta(days=30))
    group(1, assignee=viewer("ada"))
    for address in ("/alerts/report/", "/alerts/"):
        page = text(reader, address)
        assert ">Evidence</a></th>" in page
        assert "</span> confirmed</span>" in page
        assert "</span> acknowledged</span>" in page
        assert "unassigned" in page
        assert "nobody</" not in page
        assert f'<time datetime="{made.due_at:%Y-%m-%dT%H:%M:%S}+00:00" data-relative>' in page
    assert "Owner" not in text(reader, "/alerts/report/")
    assert "Assignee" in text(reader, "/alerts/")


def test_page_takes_only_the_periods_that_it_offers(reader: Client) -> None:
    group(20, title="older")
    assert "older" in text(reader, "/alerts/report/?days=30")
    assert reader.get("/alerts/report/?days=9999999999").status_code == 200


def test_command_prints_the_markdown() -> None:
    group(1, title="the slow one")
    out = io.StringIO()
    call_command("triage_report", days=7, stdout=out)
    assert "the slow one" in out.getvalue()
    with pytest.raises(CommandError, match="choose 1 to 92"):
        call_command("triage_report", days=0)
