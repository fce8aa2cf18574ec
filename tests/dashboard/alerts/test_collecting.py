"""The builds of a confirmed alert run once more for its report, behind everything else."""

import lzma
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from dashboard.alerts.selectors import collected_evidence
from dashboard.alerts.selectors.collected_evidence import CollectedEvidence
from dashboard.alerts.services import collecting, detection
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertGroup, Config, Job, Run, Series
from dashboard.results.core.structured_trace import LOG, TRACE
from dashboard.runs.services.dispatch import LOWEST_PRIORITY, PRIORITIES, dispatch, priority
from tests.builders.alerting import end_job
from tests.builders.archives import leave, packed
from tests.builders.confirmations import NEW, confirmed_regression
from tests.builders.people import viewer
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def confirmed() -> AlertGroup:
    return confirmed_regression()


def start_due() -> int:
    return collecting.start_due(now=timezone.now())


def seen(group: AlertGroup) -> CollectedEvidence:
    """Read again what the pages say."""
    group = AlertGroup.objects.get(pk=group.pk)
    return collected_evidence.of_group(group, list(group.alerts.all()))


def diagnostic_jobs() -> list[Job]:
    jobs = Job.objects.filter(run__evidence_of__isnull=False).select_related("run__build")
    return list(jobs.order_by("planned_at"))


def end_with_records() -> None:
    """Both jobs end, and leave a trace and a log."""
    for job in diagnostic_jobs():
        end_job(job, {"latency_ms": 100.0})
        leave(job, TRACE, packed({"trace.log": "V1124 1 1 x.py:1] {}\n"}))
        leave(job, LOG, lzma.compress(b"guards"))


def test_confirmed_alert_has_both_builds_diagnosed(confirmed: AlertGroup) -> None:
    assert start_due() == 1
    base, new = diagnostic_jobs()
    assert [base.run.build, new.run.build] == [confirmed.base, confirmed.new]
    assert base.spec["measure"]["starts"] == ["cold", "counted", "diagnostic"]
    assert base.spec["measure"]["keep_code"]
    assert base.spec["purpose"] == "confirmation"


def test_diagnostic_start_has_the_machine_s_time_for_itself(confirmed: AlertGroup) -> None:
    start_due()
    assert confirmed.machine is not None
    assert diagnostic_jobs()[0].spec["timeout_s"] == 2 * confirmed.machine.timeout_s


def test_its_jobs_wait_behind_everything_else(confirmed: AlertGroup) -> None:
    start_due()
    assert [priority(job) for job in diagnostic_jobs()] == [LOWEST_PRIORITY, LOWEST_PRIORITY]
    assert max(PRIORITIES.values()) < LOWEST_PRIORITY


def test_its_jobs_are_sent_once_nothing_else_waits(confirmed: AlertGroup, broker: Any) -> None:
    start_due()
    assert dispatch() == 2


def test_history_says_what_is_collected(confirmed: AlertGroup) -> None:
    start_due()
    [note] = confirmed.events.filter(action="note")
    assert note.text.startswith(f"Collecting evidence of {confirmed.base} and {NEW}: mlp.")


def test_alert_is_diagnosed_once(confirmed: AlertGroup) -> None:
    assert [start_due(), start_due()] == [1, 0]


def test_detection_and_confirmation_read_nothing_of_it(confirmed: AlertGroup) -> None:
    start_due()
    for job in diagnostic_jobs():
        end_job(job, {"latency_ms": 500.0})
    detection.detect_due()
    assert AlertGroup.objects.count() == 1
    assert not Run.objects.filter(confirmation__isnull=False, evidence_of__isnull=False).exists()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"evidence_state": "suspected"}, "once the alert is confirmed"),
        ({"cause": "machine"}, "not the compiler (machine is)"),
        ({"direction": "improvement"}, "for regressions"),
        ({"kind": "environment"}, "that came with a build"),
    ],
)
def test_alert_that_it_would_not_explain_is_left_to_people(
    confirmed: AlertGroup, fields: dict[str, str], why: str
) -> None:
    AlertGroup.objects.update(**fields)
    confirmed.refresh_from_db()
    assert start_due() == 0
    collected = seen(confirmed)
    assert why in collected.why_not
    assert collected.may_collect


def test_nothing_starts_by_itself_without_a_budget(confirmed: AlertGroup, settings: Any) -> None:
    settings.EVIDENCE_JOBS_A_DAY = 0
    assert start_due() == 0
    assert "EVIDENCE_JOBS_A_DAY" in seen(confirmed).why_not


def test_nothing_starts_where_the_day_s_jobs_are_spent(
    confirmed: AlertGroup, settings: Any
) -> None:
    settings.EVIDENCE_JOBS_A_DAY = 2
    start_due()
    Run.objects.filter(evidence_of__isnull=False).update(evidence_of=None)
    Run.objects.filter(label__startswith="Evidence").update(evidence_of=confirmed.alerts.get())
    assert confirmed.machine is not None
    now = timezone.now()
    assert collecting.is_over_budget(machine=confirmed.machine, now=now)
    assert not collecting.is_over_budget(machine=confirmed.machine, now=now + timedelta(days=2))


def test_alert_confirmed_long_ago_is_left_to_people(confirmed: AlertGroup) -> None:
    later = timezone.now() + collected_evidence.RECENT + timedelta(hours=1)
    assert collecting.start_due(now=later) == 0


def test_person_has_it_collected_whatever_the_cause(confirmed: AlertGroup, settings: Any) -> None:
    settings.EVIDENCE_JOBS_A_DAY = 0
    AlertGroup.objects.update(cause="machine")
    ada = User.objects.create(username="ada")
    runs = collecting.collect(group=confirmed, by=ada, now=timezone.now())
    assert [run.request["side"] for run in runs] == ["base", "new"]
    assert runs[0].created_by == ada


def test_person_is_refused_while_it_is_being_collected(confirmed: AlertGroup) -> None:
    start_due()
    with pytest.raises(ActionNotAllowed, match="being collected already"):
        collecting.collect(group=confirmed, by=None, now=timezone.now())


def test_eager_case_is_refused_with_the_reason(confirmed: AlertGroup) -> None:
    eager = Config.objects.get(name="eager")
    Series.objects.filter(alerts__group=confirmed).update(config=eager)
    with pytest.raises(ActionNotAllowed, match="nothing is compiled there"):
        collecting.collect(group=confirmed, by=None, now=timezone.now())


def test_alert_without_two_builds_is_refused_with_the_reason(confirmed: AlertGroup) -> None:
    confirmed.alerts.update(base=confirmed.new)
    with pytest.raises(ActionNotAllowed, match="no two builds to compare"):
        collecting.collect(group=confirmed, by=None, now=timezone.now())


# --- What the pages say


def report_page(group: AlertGroup, reader: Client) -> str:
    return " ".join(page_text(reader.get(f"/alerts/{group.pk}/report/")).split())


def test_page_says_that_it_is_collected_next(confirmed: AlertGroup, reader: Client) -> None:
    assert "are collected next, behind everything else" in report_page(confirmed, reader)


def test_page_says_how_far_either_build_is(confirmed: AlertGroup, reader: Client) -> None:
    start_due()
    assert f"{NEW}</a> planned" in report_page(confirmed, reader)
    end_with_records()
    assert f"{NEW}</a> done" in report_page(confirmed, reader)


def test_page_says_why_nothing_came(confirmed: AlertGroup, reader: Client) -> None:
    start_due()
    for job in diagnostic_jobs():
        end_job(job, None)
        Job.objects.filter(pk=job.pk).update(message="torch 2.13.0 cannot be installed")
    assert "(torch 2.13.0 cannot be installed)" in report_page(confirmed, reader)


def test_ready_issue_names_the_trace_once_it_is_there(
    confirmed: AlertGroup, reader: Client, settings: Any
) -> None:
    settings.SITE_URL = "https://watch.example.org"  # others can open it, so the issue links to it
    page = f"/alerts/{confirmed.pk}/report/"
    assert "Structured trace of base and new: not recorded" in page_text(reader.get(page))
    start_due()
    end_with_records()
    text = page_text(reader.get(page))
    assert "with the structured trace" in text
    assert "not recorded" not in text


def test_button_has_it_collected(confirmed: AlertGroup, client: Client) -> None:
    user = viewer("grace")
    user.user_permissions.add(Permission.objects.get(codename="change_alertgroup"))
    client.force_login(user)
    page = client.post(f"/alerts/{confirmed.pk}/collect-evidence", follow=True)
    assert "Collecting evidence: both builds run once more" in page_text(page)
    assert len(diagnostic_jobs()) == 2
