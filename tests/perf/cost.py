"""What detection costs, beside apache-otava on the same series in the same run."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from dashboard.detection import OnlineDetector, Settings, find_change_points
from tests.perf.noise import LEVEL, Floats, gaussian, points

SERIES, LENGTH = 40, 500


def series() -> Floats:
    """Gaussian series of 500 points; every second one has a step of 5 % in its middle."""
    values = LEVEL + gaussian(np.random.default_rng(7), (SERIES, LENGTH))
    values[::2, LENGTH // 2 :] += 5
    return values


def milliseconds(work: Callable[[], object]) -> float:
    """CPU time of one call: wall time means little beside other work."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def whole(values: Floats) -> Floats:
    """Milliseconds to find the change points of each series at once."""
    given = [points(row) for row in values]
    return np.array([milliseconds(partial(find_change_points, row, Settings())) for row in given])


def online(values: Floats, after: int) -> float:
    """Mean milliseconds of one update after so many points of history."""
    detector = OnlineDetector(Settings())
    history = points(np.tile(values[1], after // LENGTH + 1))
    for point in history[:after]:
        detector.update(point)
    return milliseconds(lambda: [detector.update(point) for point in history[:LENGTH]]) / LENGTH


def otava(values: Floats, python: str) -> Floats:
    """Milliseconds that apache-otava takes for each series, in its own environment."""
    script = Path(__file__).with_name("otava_cost.py")
    done = subprocess.run(
        [python, str(script)],
        input=json.dumps(values.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(done.stdout))


def costs() -> Iterator[str]:
    """Lines of the table; the comparison only where OTAVA_PYTHON says with what."""
    values = series()
    whole(values[:4])
    ours = whole(values)
    yield f"whole series, n = 500: {np.median(ours):.2f} ms (fastest {ours.min():.2f})"
    updates = online(values, 500)
    yield (
        f"one more point: {updates:.3f} ms after 500 points, {online(values, 20_000):.3f} ms "
        "after 20,000"
    )
    python = os.environ.get("OTAVA_PYTHON")
    if python:
        theirs = otava(values, python)
        yield (
            f"apache-otava, the same series: {np.median(theirs):.2f} ms (fastest "
            f"{theirs.min():.2f})"
        )
        yield (
            f"faster: whole series {np.median(theirs) / np.median(ours):.1f} times, fastest "
            "against fastest "
        )
        yield (
            f"        {theirs.min() / ours.min():.1f} times; one more point "
            f"{np.median(theirs) / updates:.0f} times"
        )
