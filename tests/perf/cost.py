"""What one more point costs, next to apache-otava on the same series in the same run."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dashboard.detection import OnlineDetector, Settings
from tests.perf.noise import LEVEL, Floats, gaussian, points

SERIES, LENGTH = 40, 500


def series() -> Floats:
    """Gaussian series of 500 points; every second one has a step of 5% in its middle."""
    values = LEVEL + gaussian(np.random.default_rng(7), (SERIES, LENGTH))
    values[::2, LENGTH // 2 :] += 5
    return values


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of one call: wall time means little next to other work."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def one_more_point(values: Floats, after: int) -> float:
    """Mean milliseconds of one update after so many points of history."""
    detector = OnlineDetector(Settings())
    history = points(np.tile(values[1], after // LENGTH + 1))
    for point in history[:after]:
        detector.update(point)

    def update() -> None:
        for point in history[:LENGTH]:
            detector.update(point)

    return milliseconds(update) / LENGTH


def otava_ms(values: Floats, python: str) -> Floats:
    """Milliseconds that apache-otava takes for each series, in its own environment."""
    script = Path(__file__).with_name("otava_cost.py")
    process = subprocess.run(
        [python, str(script)],
        input=json.dumps(values.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(process.stdout))


def costs() -> Iterator[str]:
    """Lines of the table; the comparison only where OTAVA_PYTHON says with what.

    Otava analyses a series again for each new point: that is what one more point costs with it.
    """
    values = series()
    ours = one_more_point(values, 500)
    after_many = one_more_point(values, 20_000)
    yield f"one more point: {ours:.3f} ms after 500 points, {after_many:.3f} ms after 20,000"
    python = os.environ.get("OTAVA_PYTHON")
    if python:
        theirs = np.median(otava_ms(values, python))
        yield f"apache-otava, a series of {LENGTH} points: {theirs:.2f} ms"
        yield f"one more point is judged {theirs / ours:.0f} times faster"
