"""Landed data become verdicts and alerts: once each, in order, whatever comes late or twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection

from dashboard.alerts.services import detection, triage
from dashboard.detection import VERSION
from dashboard.models import Alert, AlertGroup, DetectorState, Series, Track
from tests.builders import site
from tests.builders.alerting import FIRST, measure, measured, noise

pytestmark = pytest.mark.django_db


# fmt: off
# Counted starts of the drill's own model, as it is and with 48,500 needless calls in one pass
# (torch 2.13, Python 3.11, two cores that ran thirty other processes)
COMPILE_CALLS = [
    968_866, 968_931, 969_244, 969_408, 969_656, 968_880, 969_101, 968_899, 969_196, 968_852,
    969_269, 968_978, 969_077, 969_017, 969_111, 969_285, 969_246, 968_785, 969_134, 969_170,
    969_003,
]
BUSIER = [1_017_573, 1_017_189, 1_017_430, 1_017_711, 1_017_733]
# fmt: on


def stepped(count: int = 8) -> list[float]:
    """30 points at 100, then some that are 10% slower."""
    return [*noise(30), *noise(count, 110, seed=1)]


def test_a_step_becomes_one_alert_with_its_builds() -> None:
    measured(stepped()[:30])
    measured(stepped()[30:], first=30, build="2.14.0")
    detection.detect_due()
    alert = Alert.objects.get()
    assert str(alert.base) == site.BUILD
    assert str(alert.new) == "2.14.0"
    assert alert.planned_at == FIRST + timedelta(hours=30)
    assert alert.effect == pytest.approx(10, abs=2)
    assert alert.kind == "step"
    assert alert.direction == "regression"
    assert alert.group.state == "suspected"
    assert alert.group.title.startswith("mlp inference: ")
    assert alert.group.title.endswith(" slower in inductor since 2.14.0")


def test_five_percent_more_compile_calls_are_an_alert_at_the_third_point() -> None:
    measured(COMPILE_CALLS, metric="compile_calls")
    first = len(COMPILE_CALLS)
    measured(BUSIER[:2], metric="compile_calls", first=first, build="2.14.0")
    detection.detect_due()
    assert not Alert.objects.exists()
    measured(BUSIER[2:3], metric="compile_calls", first=first + 2, build="2.14.0")
    detection.detect_due()
    alert = Alert.objects.get()
    assert str(alert.new) == "2.14.0"
    assert alert.effect == pytest.approx(5.0, abs=0.1)
    assert alert.group.cause == "compiler"
    assert alert.group.severity == "low"


def test_young_series_borrows_the_noise_of_the_machines_others() -> None:
    measured(noise(5))
    series = Series.objects.get(metric="latency_ms")
    law = {"rho": 0.5, "scale": 1.7, "known": 100.0}
    for place in range(5):
        other = Series.objects.create(
            benchmark=series.benchmark,
            config=series.config,
            metric=series.metric,
            machine=series.machine,
            track=Track.objects.create(key=f"t{place}"),
        )
        DetectorState.objects.create(
            series=other, version=str(VERSION), state={"now": {"law": law}}, lends=True
        )
    detection.detect_due()
    usual = DetectorState.objects.get(series=series).state["now"]["usual"]
    assert usual["rho"] == 0.5


@pytest.mark.parametrize(("points", "lends"), [(20, False), (100, True)])
def test_series_lends_its_noise_once_that_is_known(points: int, lends: bool) -> None:
    series = measured(noise(points))
    detection.detect_due()
    assert DetectorState.objects.get(series=series).lends is lends


def test_detection_point_by_point_raises_the_same_alert_as_all_at_once() -> None:
    for hour, value in enumerate(stepped()):
        measure({"latency_ms": value}, hour)
        detection.detect_due()
    alert = Alert.objects.get()
    DetectorState.objects.update(version="", due=True)
    detection.detect_due()
    assert Alert.objects.get() == alert


def test_noise_raises_no_alert() -> None:
    measured(noise(60))
    detection.detect_due()
    assert not Alert.objects.exists()


def test_a_series_that_is_not_due_is_left_alone() -> None:
    series = measured(noise(3))
    assert detection.detect(series_id=series.pk)
    assert not detection.detect(series_id=series.pk)


def test_metric_that_does_not_alert_is_not_judged() -> None:
    measured(noise(3), metric="speedup")
    assert set(DetectorState.objects.values_list("series__metric", flat=True)) == {"passed"}


def test_late_data_make_the_detector_read_the_series_again() -> None:
    series = measured(noise(30))
    detection.detect_due()
    before = DetectorState.objects.get(series=series).state
    measure({"latency_ms": 100.0}, 10.5)
    detection.detect_due()
    after = DetectorState.objects.get(series=series).state
    assert before["now"]["seen"] == 30
    assert after["now"]["seen"] == 31


def test_manual_and_confirmation_data_are_not_read() -> None:
    measured(noise(30))
    for hour in range(30, 38):
        measure({"latency_ms": 200.0}, hour, purpose="manual")
    detection.detect_due()
    assert not Alert.objects.exists()


def test_memory_that_was_constant_needs_one_point() -> None:
    measured([1.5] * 10, metric="peak_memory_gb")
    measure({"peak_memory_gb": 1.8}, 10, build="2.14.0")
    detection.detect_due()
    alert = Alert.objects.get()
    assert alert.series.metric == "peak_memory_gb"
    assert str(alert.new) == "2.14.0"
    assert alert.effect == pytest.approx(20)


def test_a_status_change_needs_no_history() -> None:
    measured(noise(3))
    measure({"latency_ms": 100.0}, 3, build="2.14.0", status="fail_accuracy")
    detection.detect_due()
    alert = Alert.objects.get()
    assert alert.kind == "status"
    assert alert.decision["words"] == ["pass", "fail_accuracy"]
    what = "accuracy failed (was passed)"
    assert alert.group.title == f"mlp inference: {what} in inductor since 2.14.0"
    assert alert.group.severity == "high"


def test_a_case_that_brings_no_number_is_a_status_change_and_no_latency() -> None:
    measured(noise(3))
    measure(None, 3)
    detection.detect_due()
    assert Alert.objects.get().decision["words"] == ["pass", "timeout"]


@pytest.mark.parametrize(
    ("metric", "what"), [("graph_breaks", "graph breaks"), ("outputs_wrong", "wrong outputs")]
)
def test_count_is_judged_from_the_first_more(metric: str, what: str) -> None:
    measured([0.0] * 8, metric=metric)
    measure({metric: 2.0}, 8, build="2.14.0")
    detection.detect_due()
    expected = f"mlp inference: 2 more {what} in inductor since 2.14.0"
    assert Alert.objects.get().group.title == expected


def test_repeats_of_one_nightly_build_make_one_point() -> None:
    Track.objects.filter(pk=site.track().pk).update(kind=Track.Kind.NIGHTLY)
    for night in range(6):
        for repeat in range(3):
            measure({"latency_ms": 100.0 + repeat}, night * 24 + repeat, build=f"2.14.0.dev{night}")
    detection.detect_due()
    state = DetectorState.objects.get(series__metric="latency_ms").state
    assert state["now"]["seen"] == 6
    assert state["now"]["recent"][-1] == 101.0


def test_on_a_track_that_stands_still_every_run_is_a_point() -> None:
    series = measured(noise(6))
    detection.detect_due()
    assert DetectorState.objects.get(series=series).state["now"]["seen"] == 6


def test_another_version_of_the_benchmark_is_a_new_segment() -> None:
    measured(noise(30))
    for hour, value in enumerate(noise(30, level=150.0), 30):
        job = measure({"latency_ms": value}, hour)
        job.data.update(benchmark_version=2)
    detection.detect_due()
    assert not Alert.objects.exists()
    assert DetectorState.objects.get(series__metric="latency_ms").state["now"]["seen"] == 30


def test_muted_series_raises_no_alert_and_is_still_judged() -> None:
    series = measured(noise(30))
    triage.mute(series=series, until=FIRST + timedelta(days=365), by=None)
    measured(stepped()[30:], first=30)
    detection.detect_due()
    assert not Alert.objects.exists()
    assert DetectorState.objects.get(series=series).state["now"]["start"] >= 30


def test_an_invalid_point_takes_its_alert_along_and_brings_it_back() -> None:
    series = measured([1.5] * 10, metric="peak_memory_gb")
    job = measure({"peak_memory_gb": 1.8}, 10)
    detection.detect_due()
    group = AlertGroup.objects.get()
    point = triage.mark_invalid(
        series=series, job=job, reason="another process", by=User.objects.create_user("ada")
    )
    detection.detect_due()
    group.refresh_from_db()
    assert group.state == "invalid"
    triage.bring_back(point=point)
    detection.detect_due()
    group.refresh_from_db()
    assert group.state == "suspected"
    assert Alert.objects.count() == 1


def turned_round() -> Series:
    """The memory of 2.16.0 is worse than that of 2.15.0, and better than what is left of before."""
    levels = {"2.13.0": 1.0, "2.14.0": 1.5, "2.15.0": 1.0, "2.16.0": 1.3}
    for place, (build, level) in enumerate(levels.items()):
        first = 10 * place
        series = measured([level] * 10, metric="peak_memory_gb", first=first, build=build)
        detection.detect_due()
    for datum in series.data.filter(build__label="2.15.0").select_related("job"):
        triage.mark_invalid(series=series, job=datum.job, reason="another process", by=None)
    detection.detect_due()
    return series


def test_change_that_turns_round_has_an_alert_of_its_own_and_the_earlier_one_is_withdrawn() -> None:
    series = turned_round()
    assert not DetectorState.objects.get(series=series).due
    alerts = {alert.direction: alert for alert in Alert.objects.filter(new__label="2.16.0")}
    assert alerts["improvement"].planned_at == alerts["regression"].planned_at
    assert alerts["improvement"].group.state == "suspected"
    assert alerts["regression"].group.state == "invalid"


def test_withdrawn_alert_is_not_what_a_later_change_undoes() -> None:
    turned_round()
    measured([1.0] * 4, metric="peak_memory_gb", first=40, build="2.17.0")
    detection.detect_due()
    assert Alert.objects.get(new__label="2.17.0").direction == "improvement"


def test_alert_of_a_change_that_is_weeks_old_is_closed_from_the_start() -> None:
    measured([1.5] * 10, metric="peak_memory_gb")
    measured([1.8] * 2, metric="peak_memory_gb", first=10)
    measured([1.8], metric="peak_memory_gb", first=10 + 15 * 24)
    detection.detect_due()
    assert AlertGroup.objects.get().workflow_state == "wontfix"


def test_series_keeps_the_smallest_change_that_it_can_show() -> None:
    series = measured(noise(40))
    detection.detect_due()
    shown = DetectorState.objects.get(series=series).can_show_percent
    assert shown == pytest.approx(4, abs=2)


def test_a_change_without_a_change_of_build_is_a_group_of_its_own_kind() -> None:
    measured(stepped())
    detection.detect_due()
    assert AlertGroup.objects.get().kind == "environment"


def test_changes_of_one_case_at_one_build_are_one_group() -> None:
    for hour in range(10):
        measure({"peak_memory_gb": 1.5, "graph_breaks": 0.0}, hour)
    measure({"peak_memory_gb": 1.8, "graph_breaks": 1.0}, 10, build="2.14.0")
    detection.detect_due()
    assert AlertGroup.objects.count() == 1
    assert Alert.objects.count() == 2


def test_better_and_worse_in_one_case_is_a_trade_off() -> None:
    for hour in range(10):
        measure({"peak_memory_gb": 1.5, "graph_breaks": 3.0}, hour)
    measure({"peak_memory_gb": 1.8, "graph_breaks": 0.0}, 10, build="2.14.0")
    detection.detect_due()
    group = AlertGroup.objects.get()
    assert group.direction == "trade_off"
    assert group.severity == "high"
    changes = "20.0% more memory, but 3 fewer graph breaks"
    assert group.title == f"mlp inference: {changes} in inductor since 2.14.0"


def test_change_that_is_detected_again_raises_no_second_alert() -> None:
    measured([1.5] * 10, metric="peak_memory_gb")
    measure({"peak_memory_gb": 1.8}, 10)
    detection.detect_due()
    DetectorState.objects.update(due=True)
    detection.detect_due()
    assert Alert.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_raise_one_alert() -> None:
    series = measured([1.5] * 10, metric="peak_memory_gb")
    measure({"peak_memory_gb": 1.8}, 10)
    with ThreadPoolExecutor(2) as pool:
        judged = list(pool.map(judge_in_a_thread, [series.pk] * 2))
    assert sorted(judged) == [False, True]
    assert Alert.objects.count() == 1
    assert AlertGroup.objects.count() == 1


def judge_in_a_thread(series_id: int) -> bool:
    try:
        return detection.detect(series_id=series_id)
    finally:
        connection.close()


def test_series_that_cannot_be_judged_does_not_stop_the_others() -> None:
    measure({"latency_ms": 1.0}, 0).data.filter(series__metric="passed").update(
        status="a word of another version"
    )
    detection.detect_due()
    assert [state.series.metric for state in DetectorState.objects.filter(due=True)] == ["passed"]
    assert DetectorState.objects.get(series__metric="latency_ms").state["now"]["seen"] == 1


def test_run_by_hand_marks_only_how_its_cases_ended() -> None:
    measure({"latency_ms": 1.0}, 0, purpose="manual")
    due = DetectorState.objects.filter(due=True)
    assert list(due.values_list("series__metric", flat=True)) == ["passed"]


def test_imported_result_marks_nothing() -> None:
    measure({"latency_ms": 1.0}, 0, purpose="import")
    assert not DetectorState.objects.exists()
