"""Facts that the site keeps of a series besides its changes: a wider spread, why it is not judged,
and the device of each point.
"""

from datetime import datetime, timedelta

import numpy as np
import pytest

from dashboard.alerts.services import detection
from dashboard.models import Alert, DetectorState, Machine, Result, Series
from dashboard.results.selectors import history
from tests.builders.alerting import FIRST, measured, noise

pytestmark = pytest.mark.django_db


def wandering(count: int) -> list[float]:
    """AR(1) with a correlation of 0.95 around 100."""
    generator = np.random.default_rng(3)
    values = [0.0]
    while len(values) < count:
        values.append(0.95 * values[-1] + generator.normal(0, 0.5))
    return [100 + value for value in values]


def state_of(series: Series) -> dict[str, dict[str, object] | None]:
    state: dict[str, dict[str, object] | None] = DetectorState.objects.get(series=series).state
    return state


def test_series_that_became_noisier_says_since_when_and_raises_no_alert() -> None:
    series = measured([*noise(60), *noise(50, percent=3, seed=1)])
    detection.detect_due()
    noisier = state_of(series)["noisier"]
    assert noisier
    begins = datetime.fromisoformat(str(noisier["at"]))
    assert abs(begins - (FIRST + timedelta(hours=60))) < timedelta(hours=10)
    assert not Alert.objects.exists()


def test_change_of_level_ends_the_news_of_a_wider_spread() -> None:
    series = measured([*noise(60), *noise(50, percent=3, seed=1), *noise(40, 150, seed=2)])
    detection.detect_due()
    assert Alert.objects.exists()
    assert state_of(series)["noisier"] is None


def test_series_whose_level_wanders_is_not_judged_and_says_so() -> None:
    series = measured(wandering(150))
    detection.detect_due()
    limit = state_of(series)["limit"]
    assert limit
    assert limit["reason"] == "wanders"
    assert not Alert.objects.exists()


def test_ordinary_series_has_no_limit() -> None:
    series = measured(noise(60))
    detection.detect_due()
    assert state_of(series)["limit"] is None


@pytest.mark.parametrize(("kind", "device"), [("cuda", "GPU-1"), ("cpu", "")])
def test_point_carries_its_gpu_and_not_the_name_of_a_host(kind: str, device: str) -> None:
    series = measured(noise(1))
    Machine.objects.update(device_kind=kind)
    Result.objects.update(device="GPU-1")
    series = Series.objects.select_related("machine").get(pk=series.pk)
    assert [reading.device for reading in history.readings(series)] == [device]


def test_another_gpu_raises_no_alert_and_a_change_within_it_does() -> None:
    series = measured([*noise(40), *noise(30, 106, seed=1)])
    Machine.objects.update(device_kind="cuda")
    for place, datum in enumerate(series.data.order_by("planned_at")):
        Result.objects.filter(job=datum.job).update(device="GPU-1" if place < 40 else "GPU-2")
    detection.detect_due()
    assert not Alert.objects.exists()
    Result.objects.update(device="GPU-1")
    DetectorState.objects.update(version="", due=True)
    detection.detect_due()
    assert Alert.objects.exists()
