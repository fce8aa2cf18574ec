"""Stored histories under other settings: what the detector would have reported."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dashboard.alerts.core.history_replay import changes_of, differences
from dashboard.alerts.services import detection
from dashboard.detection import Settings
from dashboard.models import Alert
from dashboard.results.core.series_points import SeriesPoint
from tests.builders.alerting import FIRST, measured, noise

pytestmark = pytest.mark.django_db


def printed(*arguments: str) -> str:
    out = StringIO()
    call_command("replay_history", "--days", "36500", *arguments, stdout=out)
    return out.getvalue()


def history(values: list[float], version_at: int = 1000) -> list[SeriesPoint]:
    """One datum an hour; the benchmark's version changes at an index."""
    points = []
    for index, value in enumerate(values):
        at, version = FIRST + timedelta(hours=index), 1 + (index >= version_at)
        points.append(SeriesPoint(at, str(index), index, None, version, "pass", value, None, None))
    return points


def test_change_is_reported_with_its_first_point() -> None:
    values = [*noise(40), *noise(10, 110.0, seed=1)]
    (change,) = changes_of(history(values), "latency_ms", False, Settings(2.0))
    assert abs(change.position - 40) <= 1
    assert change.at == FIRST + timedelta(hours=change.position)
    assert change.effect == pytest.approx(10, abs=2)


def test_positions_go_on_across_versions_of_the_benchmark() -> None:
    values = [*noise(30, 50.0), *noise(30), *noise(10, 110.0, seed=1)]
    (change,) = changes_of(history(values, version_at=30), "latency_ms", False, Settings(2.0))
    assert abs(change.position - 60) <= 1


def test_changes_of_both_settings_are_paired() -> None:
    values = [*noise(40), *noise(40, 105.0, seed=1), *noise(20, 140.0, seed=2)]
    small = changes_of(history(values), "latency_ms", False, Settings(2.0))
    large = changes_of(history(values), "latency_ms", False, Settings(20.0))
    compared = differences(small, large)
    assert [change.position // 10 for change in compared.both] == [8]
    assert [change.position // 10 for change in compared.only_first] == [4]
    assert compared.only_second == []


def test_command_says_what_a_larger_threshold_loses_and_what_became_of_it() -> None:
    measured(noise(40))
    measured(noise(10, 110.0, seed=1), first=40)
    detection.detect_due()
    Alert.objects.update(confirmation="confirmed")
    same, larger = printed(), printed("--threshold-percent", "30")
    assert "latency_ms: points 50; both 1; only today 0; only with these 0; both: 1 right" in same
    assert "only today: latency_ms of mlp.smoke.inference.float32.static.b64 in inductor" in larger
    assert "only today: 1 right" in larger


def test_command_stores_nothing() -> None:
    measured(noise(40))
    measured(noise(10, 110.0, seed=1), first=40)
    printed("--threshold-percent", "1")
    assert Alert.objects.count() == 0


def test_unknown_metric_and_least_without_a_metric_are_refused() -> None:
    with pytest.raises(CommandError, match="raises no alerts"):
        printed("--metric", "kernels")
    with pytest.raises(CommandError, match="name the metric"):
        printed("--least", "1")
