"""Another device is no change of the series; a change within a device is."""

from dataclasses import replace

import numpy as np

from dashboard.detection import Point
from dashboard.detection.devices import MOST_DEVICES, NO_DEVICES
from tests.builders.detection import Floats, changes, points, quiet


def measured_by(values: Floats, stay: int = 20) -> list[Point]:
    """The values as points of three devices, 0, 4 and 8% apart, that take turns."""
    series = points(values)
    for place, point in enumerate(series):
        device = place // stay % 3
        factor = 1 + 0.04 * device
        series[place] = replace(point.times(factor), device=f"gpu {device}")
    return series


def test_devices_that_take_turns_are_no_change() -> None:
    assert changes(measured_by(quiet(240, seed=8))) == []


def test_unknown_devices_that_take_turns_are() -> None:
    series = [replace(point, device="") for point in measured_by(quiet(240, seed=8))]
    assert changes(series) != []


def test_change_shows_within_a_device() -> None:
    values = quiet(240, seed=8)
    values[165:] += 8
    assert [change.index for change in changes(measured_by(values))] == [165]


def test_change_with_another_known_device_is_reported() -> None:
    values = quiet(240, seed=8)
    values[180:] += 8
    assert [change.index for change in changes(measured_by(values))] == [180]


def test_change_with_a_new_device_is_taken_for_the_device() -> None:
    values = quiet(120)
    values[60:] += 8
    series = points(values)
    series = [replace(point, device=f"gpu {at // 60}") for at, point in enumerate(series)]
    assert changes(series) == []


def test_more_devices_than_can_be_known_are_noise() -> None:
    devices = NO_DEVICES
    for place in range(2 * MOST_DEVICES):
        devices, _ = devices.after(Point(100.0, None, None, 0, f"gpu {place}"), 100.0)
    assert len(devices.levels) == MOST_DEVICES
    point = Point(110.0, None, None, 0, "another gpu")
    assert devices.after(point, 100.0)[1] == point


def test_residuals_of_a_young_device_scatter_as_the_noise_does() -> None:
    generator, residuals = np.random.default_rng(1), []
    for _ in range(400):
        devices, _ = NO_DEVICES.after(Point(100.0, None, None, 0, "first"), 100.0)
        for value in generator.normal(105, 1, 5):
            devices, point = devices.after(Point(float(value), None, None, 0, "second"), 100.0)
            residuals.append(point.value - 100)
    later = np.array(residuals).reshape(400, 5)[:, 1:]
    assert np.allclose(later.std(axis=0), 0.95, atol=0.1)
