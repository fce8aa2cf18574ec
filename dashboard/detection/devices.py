"""Each device's own level: another device is no change of the series.

A reading of a device is judged by its distance from what that device showed before, so that a
change has to show within one device. The first device of a series needs no such correction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import NamedTuple

from dashboard.detection.points import Point

SETTLED_POINTS = 20
"""Points after which a device's level is known, and stays as it is: what comes is of the series."""


class DeviceLevel(NamedTuple):
    """How far a device is off the series' level.

    points: of it, SETTLED_POINTS at most. offset: mean of ln(value / the series' level).
    """

    points: int = 0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices of a series.

    first: the device whose level is the series'; "" before there is a point.
    levels: of the others, by name.
    """

    first: str = ""
    levels: Mapping[str, DeviceLevel] = field(default_factory=dict)

    def after(self, point: Point, level: float) -> tuple["Devices", Point]:
        """The devices after one more point, and the point as the first device would have shown it.

        level: of the series, before the point, in the metric's unit.
        """
        if not point.device or not self.first or point.device == self.first:
            return replace(self, first=self.first or point.device), point
        if point.value <= 0 or level <= 0:
            return self, point
        levels = self.levels
        device = levels.get(point.device, DeviceLevel())
        distance = log(point.value / level)
        # Recursive residuals (Brown, Durbin and Evans 1975): the distance from the mean of the n
        # points before, times √(n / (n + 1)), scatters as the noise does
        residual = (distance - device.offset) * sqrt(device.points / (device.points + 1))
        if device.points < SETTLED_POINTS:
            points = device.points + 1
            offset = device.offset + (distance - device.offset) / points
            levels = {**levels, point.device: DeviceLevel(points, offset)}
        factor = level * exp(residual) / point.value
        return replace(self, levels=levels), point.times(factor)


NO_DEVICES = Devices()
