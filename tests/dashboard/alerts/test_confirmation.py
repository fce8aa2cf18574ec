"""Suspicions are measured again, base and new in turn, and only what reproduces is confirmed."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection, triage
from dashboard.models import Alert, AlertGroup, AlertState, Confirmation, Run, Worker
from tests.builders import alerting, site
from tests.builders.alerting import land, measure, measured, noise
from tests.builders.confirmations import NEW, answer, by_build, living_worker, planned, suspected

pytestmark = pytest.mark.django_db
NOW = timezone.now()


@pytest.fixture(autouse=True)
def worker() -> Worker:
    return living_worker()


def test_what_reproduces_is_confirmed_with_its_effect() -> None:
    group = suspected()
    assert confirmations.start_due(now=NOW) == 1
    jobs = answer(by_build(10.0))
    group.refresh_from_db()
    confirmation = group.confirmation
    assert (group.state, confirmation.state, Alert.objects.get().confirmation) == (
        "confirmed",
        "done",
        "confirmed",
    )
    assert 8 <= jobs <= 12
    assert "mlp.smoke.inference.float32.static.b64 in inductor, Latency: +" in confirmation.message


def test_what_does_not_reproduce_is_closed_as_such() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(by_build(0.0))
    group.refresh_from_db()
    assert (group.state, group.closed_at is None) == ("not_reproduced", False)


def test_what_stays_open_at_the_end_of_the_budget_is_inconclusive() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    wild = (40.0, -20.0)
    jobs = answer(lambda job, place: 100.0 + wild[place // 2 % 2] * (job.run.build.label == NEW))
    group.refresh_from_db()
    assert (group.state, jobs) == ("inconclusive", 24)


def test_builds_are_measured_in_turn_with_balanced_beginnings() -> None:
    suspected()
    confirmations.start_due(now=NOW)
    sides = [job.run.request["side"] for job in planned()]
    firsts = sides[::2]
    assert len(sides) == 8
    assert (firsts.count("base"), firsts.count("new")) == (2, 2)


def test_the_runs_point_at_their_confirmation() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    runs = Run.objects.filter(confirmation=group.confirmation)
    assert {(run.purpose, run.build.label) for run in runs} == {
        ("confirmation", site.BUILD),
        ("confirmation", NEW),
    }


def test_without_the_base_build_only_the_new_one_is_measured_and_that_is_said() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    answer(lambda job, place: None if job.run.build.label != NEW else 110.0 + place / 10)
    group.refresh_from_db()
    assert (group.state, group.confirmation.only_new) == ("confirmed", True)
    assert group.confirmation.message.startswith("The base build cannot be measured here any more")


def test_a_build_that_stayed_is_measured_again_alone() -> None:
    group = suspected(build=site.BUILD)
    confirmations.start_due(now=NOW)
    jobs = answer(lambda job, place: 110.0 + place / 10)
    group.refresh_from_db()
    assert (group.kind, group.state, jobs) == ("environment", "confirmed", 6)


def test_what_passed_by_itself_is_not_confirmed() -> None:
    group = suspected(build=site.BUILD)
    confirmations.start_due(now=NOW)
    answer(lambda job, place: 100.0 + place / 10)
    group.refresh_from_db()
    assert group.state == "not_reproduced"


def test_nothing_is_started_while_the_run_that_showed_it_goes_on() -> None:
    site.run(purpose="scheduled")
    suspected()
    assert confirmations.start_due(now=NOW) == 0


def test_later_runs_are_not_waited_for() -> None:
    suspected()
    site.run(purpose="scheduled")
    assert confirmations.start_due(now=NOW) == 1


def test_a_deep_queue_waits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    group = suspected()
    monkeypatch.setattr(confirmations, "DEEP_QUEUE", 0)
    site.run()
    assert confirmations.start_due(now=NOW) == 0
    group.refresh_from_db()
    assert (group.state, group.confirmation.state) == ("suspected", "skipped")
    assert (
        group.confirmation.message
        == "1 job waits on this machine: it is confirmed when there are 0 or fewer."
    )


def test_what_waited_starts_later() -> None:
    group = suspected()
    Worker.objects.update(last_seen=None)
    confirmations.start_due(now=NOW)
    Worker.objects.update(last_seen=timezone.now())
    assert confirmations.start_due(now=NOW) == 1
    assert Confirmation.objects.get(group=group).state == "running"


def test_what_cannot_be_started_for_days_is_inconclusive() -> None:
    group = suspected()
    Worker.objects.update(last_seen=None)
    confirmations.start_due(now=timezone.now() + timedelta(days=4))
    group.refresh_from_db()
    assert group.state == "inconclusive"


def test_one_machine_confirms_one_group_at_a_time_and_so_many_a_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suspected()
    confirmations.start_due(now=NOW)
    machine = site.machine()
    assert (
        confirmations.reason_to_wait(machine=machine, now=NOW)
        == "Another confirmation is running on this machine."
    )
    answer(by_build(0.0))
    monkeypatch.setattr(confirmations, "MOST_A_DAY", 1)
    assert confirmations.reason_to_wait(machine=machine, now=timezone.now()).startswith(
        "1 confirmations were started"
    )


def test_a_group_that_somebody_closed_is_measured_no_further() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    triage.move(group=group, to=AlertState.INVALID, by=User.objects.create_user("ada"))
    conclusions.advance_all(now=NOW)
    assert (Confirmation.objects.get().state, planned()) == ("done", [])


def test_an_acknowledged_group_stays_so_when_it_is_confirmed() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=User.objects.create_user("ada"))
    answer(by_build(10.0))
    group.refresh_from_db()
    assert group.state == "acknowledged"
    assert group.events.filter(text__startswith="confirmed: ").exists()


def test_jobs_that_never_end_leave_it_inconclusive() -> None:
    group = suspected()
    confirmations.start_due(now=NOW)
    conclusions.advance_all(now=timezone.now() + timedelta(days=4))
    group.refresh_from_db()
    assert (group.state, planned()) == ("inconclusive", [])


def test_a_status_is_confirmed_by_the_words() -> None:
    measured(noise(3))
    measure({"latency_ms": 100.0}, 3, build=NEW, status="fail_accuracy")
    detection.detect_due()
    confirmations.start_due(now=NOW)
    for job in planned():
        land(
            job,
            {"latency_ms": 100.0},
            status="fail_accuracy" if job.run.build.label == NEW else "pass",
        )
    conclusions.advance_all(now=NOW)
    assert AlertGroup.objects.get().state == "confirmed"


def test_at_most_three_cases_stand_for_a_group() -> None:
    group = alerting.group(base=site.build(), new=site.build(NEW))
    for config in ("eager", "inductor", "regional"):
        alerting.alert(group, config=config)
        alerting.alert(group, config=config, metric="peak_memory_gb")
    chosen = confirmations.representatives(group=group)
    assert {alert.series.config.name for alert in chosen} == {"eager", "inductor", "regional"}
    assert len(chosen) == 3


def test_the_processes_of_the_confirmation_show_that_the_code_differs_reproducibly() -> None:
    def brought(new: bool) -> dict[str, float]:
        return {"peak_memory_gb": 1.8 if new else 1.5, "eager_peak_memory_gb": 1.0}

    def compiled(new: bool) -> dict[str, Any]:
        return {"fingerprints": {"kernels": "bbbb" if new else "aaaa"}}

    for hour in range(10):
        measure(brought(new=False), hour, compile=compiled(new=False))
    measure(brought(new=True), 10, build=NEW, compile=compiled(new=True))
    detection.detect_due()
    assert AlertGroup.objects.get().cause == "unknown"
    confirmations.start_due(now=NOW)
    for job in planned():
        new = job.run.build.label == NEW
        land(job, brought(new), compile=compiled(new))
    conclusions.advance_all(now=NOW)
    group = AlertGroup.objects.get()
    assert (group.state, group.cause) == ("confirmed", "compiler")
    assert group.events.filter(action="cause", text="Compiler").exists()


def test_the_same_processes_say_what_is_true_of_the_other_alerts_of_a_case() -> None:
    group = suspected(50.0)
    first = Alert.objects.get()
    other = alerting.alert(
        group,
        "cold_start_s",
        base=first.base,
        new=first.new,
        planned_at=first.planned_at,
        false_alarm_share=0.01,
        job=first.job,
        effect=30.0,
    )
    confirmations.start_due(now=NOW)
    while jobs := planned():
        for job in jobs:
            slower = 150.0 if job.run.build.label == NEW else 100.0
            land(
                job,
                {
                    "latency_ms": slower + job.position / 10,
                    "cold_start_s": 5.0 + job.position % 4 / 100,
                },
            )
        conclusions.advance_all(now=timezone.now())
    other.refresh_from_db()
    group.refresh_from_db()
    assert (group.state, other.confirmation) == ("confirmed", "not_reproduced")
