"""Noise that the detector was not made for, around 0 with a standard deviation of about 2."""

import numpy as np
from scipy.signal import lfilter

from tests.lab.noise import SETTLING, Floats, Noise, gaussian


def autoregressive(rho: float) -> Noise:
    """AR(1), stationary from its first point."""

    def noise(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        settling = 4 * SETTLING
        fresh = generator.normal(0, 2 * np.sqrt(1 - rho * rho), (shape[0], shape[1] + settling))
        return np.asarray(lfilter([1.0], [1.0, -rho], fresh)[:, settling:])

    return noise


def bursts(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent, and 1 point in 50 begins a burst of 2 to 5 points that are 10% higher."""
    values = gaussian(generator, shape)
    for row, start in np.argwhere(generator.random(shape) < 0.02):
        values[row, start : start + generator.integers(2, 6)] += 10
    return values


def many_outliers(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent, and 10% of the points are 20% higher."""
    return gaussian(generator, shape) + 20 * (generator.random(shape) < 0.1)


def rounded(tick: float) -> Noise:
    """Independent, and rounded to whole ticks of so many percent."""

    def noise(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        # The true level lies anywhere between two ticks
        level = generator.uniform(0, tick, (shape[0], 1))
        return np.asarray(tick * np.rint((gaussian(generator, shape) + level) / tick))

    return noise


def devices(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Four devices, ± 3% apart, of which one stays for 10 to 30 points."""
    levels = np.array(DEVICE_LEVELS)
    rows = [levels[devices_of(generator, shape[1])] for _ in range(shape[0])]
    return np.asarray(rows + gaussian(generator, shape) / 2)


DEVICE_LEVELS = (-3.0, -1.0, 1.0, 3.0)


def devices_of(generator: np.random.Generator, length: int) -> list[int]:
    """Which device each point of a series is of."""
    device, order = int(generator.integers(4)), list[int]()
    while len(order) < length:
        order += [device] * int(generator.integers(10, 31))
        device = (device + int(generator.integers(1, 4))) % 4
    return order[:length]


HARD: dict[str, Noise] = {
    "AR(1) 0.8": autoregressive(0.8),
    "AR(1) 0.9": autoregressive(0.9),
    "bursts of 2 to 5": bursts,
    "10% outliers": many_outliers,
    "ticks of 2": rounded(2.0),
    "ticks of 3": rounded(3.0),
    "ticks of 4": rounded(4.0),
    "ticks of 6": rounded(6.0),
    "devices that stay": devices,
}
