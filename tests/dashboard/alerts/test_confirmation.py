"""Suspicions are measured again, base and new in turn, and only what reproduces is confirmed."""

import re
from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.alerts.core.grouping import sentence
from dashboard.alerts.selectors import pairs
from dashboard.alerts.selectors.alerts import summarize
from dashboard.alerts.selectors.evidence import suspicion_of
from dashboard.alerts.selectors.pairs import is_warm_up
from dashboard.alerts.services import conclusions, confirmations, detection, triage
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Confirmation,
    Job,
    Machine,
    Run,
    Worker,
)
from tests.builders import alerting, site
from tests.builders.alerting import end_job, measure, measured, noise
from tests.builders.confirmations import (
    NEW,
    answer,
    by_build,
    living_worker,
    planned,
    scattered,
    suspected,
)

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def worker() -> Worker:
    return living_worker()


def test_change_that_reproduces_is_confirmed_with_its_effect() -> None:
    group = suspected()
    assert confirmations.start_due(now=NOW) == 1
    jobs = answer(by_build(10.0))
    group.refresh_from_db()
    confirmation = group.confirmation
    assert group.state == "confirmed"
    assert confirmation.state == "done"
    assert Alert.objects.get().confirmation == "confirmed"
    assert 10 <= jobs <= 14
    assert "mlp.smoke.inference.float32.static.b64 in inductor, Latency: +" in confirmation.message


def test_change_that_does_not_reproduce_is_closed() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(by_build(0.0))
    group.refresh_from_db()
    assert group.state == "not_reproduced"
    assert group.closed_at is not None


def test_change_undecided_after_all_pairs_is_inconclusive() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    jobs = answer(scattered)
    group.refresh_from_db()
    assert group.state == "inconclusive"
    assert jobs == 26


@pytest.mark.parametrize("cold_build", [NEW, site.BUILD])
def test_cold_first_process_does_not_keep_a_change_from_being_confirmed(cold_build: str) -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    warm, is_first = by_build(10.0), [True]

    def cold_at_first(job: Job, place: int) -> float | None:
        value = warm(job, place)
        if value is not None and is_first[0] and job.run.build.label == cold_build:
            is_first[0] = False
            return 1.5 * value
        return value

    jobs = answer(cold_at_first)
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert jobs <= 14
    assert 8 < Alert.objects.get().size.effect < 12  # type: ignore[operator]


def test_first_round_after_measuring_again_is_a_warm_up_too() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(scattered)
    with transaction.atomic():
        confirmation = confirmations.plan(group=group, now=timezone.now())
    again = planned()[:2]
    warm_ups = [is_warm_up(job.run.request, job.position) for job in planned()]
    assert warm_ups == [True, True] + [False] * 8
    for job in again:
        end_job(job, {"latency_ms": 1000.0})
    measured_again = pairs.measured_pairs(confirmation, Alert.objects.get())
    assert 1000.0 not in measured_again.base + measured_again.new


def test_real_change_that_was_estimated_too_large_is_confirmed_smaller() -> None:
    group = suspected(20.0)
    confirmations.start_due(now=NOW)
    answer(by_build(3.0))
    alert = Alert.objects.get()
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert alert.is_smaller
    assert alert.size.effect == pytest.approx(3.0, abs=1.0)
    assert "confirmed, smaller than first estimated (+" in group.confirmation.message
    assert sentence(suspicion_of(alert)) in group.title
    assert "; first estimated " in summarize(alert).sentence


def test_builds_are_measured_in_turn_with_balanced_beginnings() -> None:
    suspected()
    confirmations.start_due(now=NOW)
    sides = [job.run.request["side"] for job in planned()]
    firsts = sides[2::2]  # after the warm-up
    assert len(sides) == 10
    assert firsts.count("base") == 2
    assert firsts.count("new") == 2


def test_runs_refer_to_their_confirmation() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    runs = Run.objects.filter(confirmation=group.confirmation)
    assert {(run.purpose, run.build.label) for run in runs} == {
        ("confirmation", site.BUILD),
        ("confirmation", NEW),
    }


def test_confirmation_without_the_base_build_measures_the_new_one_and_says_so() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(lambda job, place: None if job.run.build.label != NEW else 110.0 + place / 10)
    group.refresh_from_db()
    assert group.state == "confirmed"
    assert group.confirmation.only_new
    assert group.confirmation.message.startswith("The base build cannot be measured here any more")


def test_build_that_stayed_is_measured_alone() -> None:
    group = suspected(build=site.BUILD)
    confirmations.start_due(now=NOW)
    jobs = answer(lambda job, place: 110.0 + place / 10)
    group.refresh_from_db()
    assert group.kind == "environment"
    assert group.state == "confirmed"
    assert jobs == 6


def test_change_that_went_away_by_itself_is_not_confirmed() -> None:
    group = suspected(build=site.BUILD)
    confirmations.start_due(now=NOW)
    answer(lambda job, place: 100.0 + place / 10)
    group.refresh_from_db()
    assert group.state == "not_reproduced"


def test_confirmation_waits_for_the_run_that_showed_the_change() -> None:
    site.run(purpose="scheduled")
    suspected()
    assert confirmations.start_due(now=NOW) == 0


def test_confirmation_does_not_wait_for_later_runs() -> None:
    suspected()
    site.run(purpose="scheduled")
    assert confirmations.start_due(now=NOW) == 1


def test_deep_queue_postpones_the_confirmation_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = suspected()
    monkeypatch.setattr(confirmations, "DEEP_QUEUE", 0)
    site.run()
    assert confirmations.start_due(now=NOW) == 0
    group.refresh_from_db()
    assert group.state == "suspected"
    assert group.confirmation.state == "skipped"
    expected = "1 job waits on this machine: it is confirmed when there are 0 or fewer."
    assert group.confirmation.message == expected


def test_postponed_confirmation_starts_later() -> None:
    group = suspected()
    Worker.objects.update(last_seen=None)
    confirmations.start_due(now=NOW)
    Worker.objects.update(last_seen=timezone.now())
    assert confirmations.start_due(now=NOW) == 1
    assert Confirmation.objects.get(group=group).state == "running"


def test_confirmation_postponed_for_days_is_inconclusive() -> None:
    group = suspected()
    Worker.objects.update(last_seen=None)
    confirmations.start_due(now=timezone.now() + timedelta(days=4))
    group.refresh_from_db()
    assert group.state == "inconclusive"


def test_machine_confirms_one_group_at_a_time_and_a_limited_number_a_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suspected()
    confirmations.start_due(now=NOW)
    machine = site.machine()
    expected = "Another confirmation is running on this machine."
    assert confirmations.reason_to_wait(machine=machine, now=NOW) == expected
    answer(by_build(0.0))
    monkeypatch.setattr(confirmations, "MOST_A_DAY", 1)
    assert confirmations.reason_to_wait(machine=machine, now=timezone.now()).startswith(
        "1 confirmations were started"
    )


def test_group_closed_by_a_person_is_not_measured_further() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    triage.move(
        group=group,
        to=AlertState.INVALID,
        by=User.objects.create_user("ada"),
    )
    conclusions.advance_all(now=NOW)
    assert Confirmation.objects.get().state == "done"
    assert planned() == []


def test_acknowledged_group_stays_acknowledged_when_confirmed() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    triage.move(
        group=group,
        to=AlertState.ACKNOWLEDGED,
        by=User.objects.create_user("ada"),
    )
    answer(by_build(10.0))
    group.refresh_from_db()
    assert group.workflow_state == "acknowledged"
    assert group.evidence_state == "confirmed"


def test_confirmation_whose_jobs_never_end_is_inconclusive() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    conclusions.advance_all(now=timezone.now() + timedelta(days=4))
    group.refresh_from_db()
    assert group.state == "inconclusive"
    assert planned() == []


def test_confirmation_that_cannot_be_advanced_keeps_no_other_waiting() -> None:
    group = suspected()
    elsewhere = alerting.group("confirming", machine=Machine.objects.create(key="other"))
    damaged = Confirmation.objects.create(group=elsewhere, order=0)
    confirmations.start_due(now=NOW)
    answer(by_build(10.0))
    group.refresh_from_db()
    assert group.state == "confirmed"
    damaged.refresh_from_db()
    assert damaged.state == "running"


def test_status_change_is_confirmed_by_the_status_words() -> None:
    measured(noise(3))
    measure({"latency_ms": 100.0}, 3, build=NEW, status="fail_accuracy")
    detection.detect_due()
    confirmations.start_due(now=NOW)
    for job in planned():
        end_job(
            job,
            {"latency_ms": 100.0},
            status="fail_accuracy" if job.run.build.label == NEW else "pass",
        )
    conclusions.advance_all(now=NOW)
    group = AlertGroup.objects.get()
    assert group.state == "confirmed"
    message = group.confirmation.message
    assert re.search(r"in inductor: measured again in \d rounds: confirmed$", message)


def test_at_most_three_cases_represent_a_group() -> None:
    group = alerting.group(base=site.build(), new=site.build(NEW))
    for config in ("eager", "inductor", "regional"):
        alerting.alert(group, config=config)
        alerting.alert(group, config=config, metric="peak_memory_gb")
    chosen = confirmations.representatives(group=group)
    assert {alert.series.config.name for alert in chosen} == {"eager", "inductor", "regional"}
    assert len(chosen) == 3


def test_what_is_split_off_during_a_confirmation_is_suspected_and_measured_on_its_own() -> None:
    group = suspected()
    extra = alerting.alert(group, config="eager", false_alarm_share=1.0)
    confirmations.start_due(now=NOW)
    new = triage.split(alerts=[extra], by=None)
    assert new.state == "suspected"
    answer(by_build(10.0))
    assert confirmations.start_due(now=NOW) == 1
    assert AlertGroup.objects.get(pk=new.pk).state == "confirming"


def test_representative_that_is_being_measured_is_not_split_off() -> None:
    group = suspected()
    alerting.alert(group, config="eager", false_alarm_share=1.0)
    confirmations.start_due(now=NOW)
    with pytest.raises(ActionNotAllowed, match="being measured again"):
        triage.split(alerts=group.confirmation.alerts.all(), by=None)
    assert AlertGroup.objects.count() == 1


def test_group_that_cannot_be_started_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suspected()
    broken = alerting.group(severity="high")  # it comes first
    start = confirmations.start

    def fail_for_broken(*, group: AlertGroup, now: datetime) -> bool:
        if group.pk == broken.pk:
            raise ValueError("broken")
        return start(group=group, now=now)

    monkeypatch.setattr(confirmations, "start", fail_for_broken)
    assert confirmations.start_due(now=NOW) == 1
