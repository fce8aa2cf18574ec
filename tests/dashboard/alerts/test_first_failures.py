"""A case that fails on a build on which it never passed is an alert, without a history."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection, triage
from dashboard.models import Alert, AlertGroup, AlertState, Job, Series, Worker
from tests.builders import site
from tests.builders.alerting import end_job, measure
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def fail(hour: float = 0, status: str = "fail_accuracy", **fields: Any) -> None:
    measure({}, hour, status=status, **fields)
    detection.detect_due()


@pytest.mark.parametrize("purpose", ["manual", "scheduled"])
def test_first_measurement_with_wrong_gradients_is_an_alert(purpose: str, reader: Client) -> None:
    fail(purpose=purpose)
    group = AlertGroup.objects.get()
    assert group.title == f"mlp inference: accuracy failed in inductor on {site.BUILD}"
    assert (group.severity, group.evidence_state) == ("high", "suspected")
    assert f'href="/alerts/{group.pk}/"' in text(reader, "/")
    assert "it has never passed on this build" in text(reader, group.get_absolute_url())


def test_each_case_has_one_alert_however_often_it_fails() -> None:
    for hour in range(3):
        fail(hour, purpose="manual")
    fail(3, purpose="scheduled", where={"track": site.track("nightly").key})
    assert Alert.objects.count() == 1


def test_failure_that_is_known_is_not_raised_for_each_new_build() -> None:
    fail(build="2.13.0")
    fail(1, build="2.14.0")
    assert Alert.objects.count() == 1


def test_build_whose_alert_was_closed_raises_no_second_one() -> None:
    fail()
    triage.move(group=AlertGroup.objects.get(), to=AlertState.INVALID)
    fail(1)
    assert Alert.objects.count() == 1


def test_imported_failure_is_left_alone() -> None:
    fail(purpose="import")
    assert not Alert.objects.exists()


@pytest.mark.parametrize("status", ["timeout", "crashed", "oom"])
def test_what_a_busy_machine_may_do_is_left_alone(status: str) -> None:
    fail(status=status)
    assert not Alert.objects.exists()


def test_case_that_passed_on_the_build_is_left_to_the_detector() -> None:
    measure({"latency_ms": 1.0}, 0, purpose="manual")
    fail(1, purpose="manual")
    assert not Alert.objects.exists()


def test_failure_to_run_needs_eager_to_pass_on_the_build() -> None:
    fail(status="fail_to_run", purpose="manual")
    assert not Alert.objects.exists()
    measure({"latency_ms": 1.0}, 1, config="eager", purpose="manual")
    detection.detect_due()
    assert Alert.objects.get().group.cause == "compiler"


def test_passing_on_the_build_later_ends_it() -> None:
    fail(purpose="manual")
    measure({"latency_ms": 1.0}, 1, purpose="manual")
    detection.detect_due()
    assert AlertGroup.objects.get().evidence_state == "recovered"


def test_passing_on_the_next_scheduled_build_ends_it() -> None:
    fail(build="2.13.0")
    measure({"latency_ms": 1.0}, 1, build="2.14.0")
    detection.detect_due()
    assert AlertGroup.objects.get().evidence_state == "recovered"


def test_invalid_point_takes_its_alert_along_until_it_is_back_or_fails_again() -> None:
    fail(purpose="manual")
    group = AlertGroup.objects.get()
    series = Series.objects.get(metric="passed")
    point = triage.mark_invalid(
        series=series, job=Job.objects.get(), reason="another process", by=None
    )
    detection.detect_due()
    assert AlertGroup.objects.get().state == "invalid"
    triage.bring_back(point=point)
    detection.detect_due()
    assert AlertGroup.objects.get().state == "suspected"

    triage.mark_invalid(
        series=series,
        job=Job.objects.get(),
        reason="again",
        by=None,
    )
    detection.detect_due()
    fail(1, purpose="manual")
    assert AlertGroup.objects.get() == group
    assert group.events.filter(action="state").count() == 4


@pytest.mark.parametrize(
    ("again", "evidence"), [("fail_accuracy", "confirmed"), ("pass", "not_reproduced")]
)
def test_it_is_measured_again_alone(again: str, evidence: str) -> None:
    fail(purpose="manual")
    worker = site.worker()
    Worker.objects.filter(pk=worker.pk).update(last_seen=timezone.now())
    assert confirmations.start_due(now=timezone.now()) == 1
    for job in Job.objects.filter(run__purpose="confirmation"):
        end_job(job, {}, status=again)
    conclusions.advance_all(now=timezone.now())
    assert AlertGroup.objects.get().evidence_state == evidence
