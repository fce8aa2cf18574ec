"""Each device's own level, so that a change of device is not taken for a change of the series.

A reading of a device is judged by its distance from what that device showed before, so that a
change has to show within one device. The first device of a series needs no such correction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from statistics import median
from typing import NamedTuple

from dashboard.detection.points import Point

MOST_DEVICES = 16
"""Devices that are told apart. Where there are more, each has too few points to be known."""
KNOWN_POINTS, SETTLED_POINTS = 10, 20
"""Points from which the error of a device's level hardly counts, and after which the level stays as
it is: what comes is of the series.
"""


class DeviceLevel(NamedTuple):
    """Distance of a device from the series' level.

    distances: ln(value / the series' level) of its first points, SETTLED_POINTS at most.
    """

    distances: tuple[float, ...] = ()

    def plus(self, distance: float) -> "DeviceLevel":
        """The level after one more point."""
        if len(self.distances) >= SETTLED_POINTS:
            return self
        return DeviceLevel((*self.distances, distance))

    def residual(self, distance: float) -> float:
        """Return the distance of a point from this level; 0 for the first one."""
        if not self.distances:
            return 0.0
        # A median bears a cold first process, and a change of the series among its points
        residual = distance - median(self.distances)
        points = len(self.distances)
        if points >= KNOWN_POINTS:
            return residual
        # The middle of n points has an error, too: scaled, residuals scatter as the noise does
        # (recursive residuals, as of Brown, Durbin and Evans 1975)
        return residual * sqrt(points / (points + 1))


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
        if point.device not in levels and len(levels) >= MOST_DEVICES:
            return self, point
        device = levels.get(point.device, DeviceLevel())
        distance = log(point.value / level)
        factor = level * exp(device.residual(distance)) / point.value
        levels = {**levels, point.device: device.plus(distance)}
        return replace(self, levels=levels), point.times(factor)


NO_DEVICES = Devices()
