"""What the scripts of tests/perf leave behind when they are killed."""

from datetime import timedelta

import pytest

from dashboard.models import Datum, Track
from tests.builders import alerting
from tests.perf.long_series import remove, write_series


@pytest.mark.django_db
def test_long_series_of_a_killed_measurement_is_removed() -> None:
    alerting.series()
    write_series(50, timedelta(hours=1))
    remove(50)
    assert not Track.objects.filter(key="long-50").exists()
    assert not Datum.objects.exists()
