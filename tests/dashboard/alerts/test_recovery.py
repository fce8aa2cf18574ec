"""Recovery: a series that goes back to where it was ends its alert, and raises no new one."""

from datetime import timedelta

import pytest

from dashboard.alerts.services import detection
from dashboard.models import Alert, AlertGroup
from tests.builders.alerting import FIRST, measure, measured, noise

pytestmark = pytest.mark.django_db


def test_level_that_goes_back_recovers_and_is_not_an_improvement() -> None:
    measured([1.5] * 10, metric="peak_memory_gb")
    measured([1.8] * 10, metric="peak_memory_gb", first=10)
    measured([1.5] * 4, metric="peak_memory_gb", first=20)
    detection.detect_due()
    group = AlertGroup.objects.get()
    assert group.state == "recovered"
    assert Alert.objects.get().recovered_at == FIRST + timedelta(hours=20)
    assert group.events.filter(text="Measured: every series is back at the level before.").exists()


def test_change_fixed_soon_after_it_was_seen_recovers_without_another_alert() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build="2.14.0")
    detection.detect_due()
    measured(noise(5, seed=2), first=36)
    detection.detect_due()
    group = AlertGroup.objects.get()
    assert group.state == "recovered"
    assert group.events.latest("pk").text == "Measured: every series is back at the level before."
    measured(noise(12, seed=3), first=41)
    detection.detect_due()
    assert Alert.objects.count() == 1


def test_level_before_is_the_last_one_where_another_change_came_shortly_before() -> None:
    for first, level, build in (
        (0, 1.0, "2.13.0"),
        (20, 2.0, "2.14.0"),
        (26, 2.2, "2.15.0"),
        (32, 2.0, "2.14.0"),
    ):
        count = 20 if first == 0 else 6
        measured([level] * count, metric="peak_memory_gb", first=first, build=build)
        detection.detect_due()
    assert [str(group.new) for group in AlertGroup.objects.order_by("pk")] == ["2.14.0", "2.15.0"]
    assert AlertGroup.objects.latest("pk").state == "recovered"
    assert Alert.objects.latest("planned_at").recovered_at == FIRST + timedelta(hours=32)


def test_level_half_way_back_has_not_recovered() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build="2.14.0")
    detection.detect_due()
    measured(noise(6, 115, seed=2), first=36)
    detection.detect_due()
    assert Alert.objects.earliest("pk").recovered_at is None


def traded(hours: range, graph_breaks: float, memory_gb: float, build: str) -> None:
    for hour in hours:
        measure({"graph_breaks": graph_breaks, "peak_memory_gb": memory_gb}, hour, build=build)
    detection.detect_due()


def test_trade_off_that_is_undone_recovers_without_another_alert() -> None:
    traded(range(10), 3, 1.5, "2.13.0")
    traded(range(10, 16), 0, 1.8, "2.14.0")
    traded(range(16, 22), 3, 1.5, "2.13.0")
    assert AlertGroup.objects.get().state == "recovered"


def test_gain_of_a_trade_off_lost_alone_is_a_regression() -> None:
    traded(range(10), 3, 1.5, "2.13.0")
    traded(range(10, 16), 0, 1.8, "2.14.0")
    traded(range(16, 22), 3, 1.8, "2.15.0")
    expected = "mlp inference: 3 more graph breaks in inductor since 2.15.0"
    assert AlertGroup.objects.latest("pk").title == expected


def test_change_after_a_track_returns_to_a_build_opens_its_own_group() -> None:
    traded(range(10), 0, 1.5, "2.13.0")
    traded(range(10, 16), 1, 1.5, "2.14.0")
    traded(range(16, 24), 1, 1.5, "2.15.0")
    traded(range(24, 26), 1, 1.8, "2.14.0")
    assert AlertGroup.objects.count() == 2


SLOW = "2.13.0~slow-1a2b3c4d"


def test_plain_build_does_not_end_the_alert_of_a_variant() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build=SLOW)
    measured(noise(12, seed=2), first=36)
    detection.detect_due()
    alert = Alert.objects.get()
    assert alert.group.is_open
    assert alert.recovered_at is None


def test_variant_that_is_back_at_the_level_before_ends_its_alert() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build=SLOW)
    detection.detect_due()
    measured(noise(6, seed=2), first=36, build=SLOW)
    detection.detect_due()
    assert AlertGroup.objects.get().state == "recovered"


def test_variant_does_not_end_the_alert_of_a_plain_build() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build="2.14.0")
    detection.detect_due()
    measured(noise(12, seed=2), first=36, build="2.14.0~fast-1a2b3c4d")
    detection.detect_due()
    assert AlertGroup.objects.get().is_open


def test_new_revision_of_a_benchmark_does_not_end_the_alert_of_the_one_before() -> None:
    measured(noise(30))
    measured(noise(6, 130, seed=1), first=30, build="2.14.0")
    detection.detect_due()
    series = measured(noise(12, seed=2), first=36, build="2.14.0")
    series.data.filter(planned_at__gte=FIRST + timedelta(hours=36)).update(benchmark_version=2)
    detection.detect_due()
    assert AlertGroup.objects.get().is_open


def test_failure_of_a_variant_ends_when_the_variant_passes() -> None:
    measure({"latency_ms": 1.0}, 0)
    measure(None, 1, build=SLOW)
    detection.detect_due()
    measure({"latency_ms": 1.0}, 2)
    detection.detect_due()
    assert AlertGroup.objects.get().is_open
    measure({"latency_ms": 1.0}, 3, build=SLOW)
    detection.detect_due()
    assert AlertGroup.objects.get().state == "recovered"
