"""What detection costs, next to apache-otava on the same series in the same run."""

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
    """CPU time of one call: wall time means little on a busy machine."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def batch_ms(values: Floats) -> Floats:
    """Milliseconds to find the change points of each series at once."""
    times = []
    for row in values:
        find = partial(find_change_points, points(row), Settings())
        times.append(milliseconds(find))
    return np.array(times)


def update_ms(values: Floats, after: int) -> float:
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
    """Lines of the table; with the comparison where OTAVA_PYTHON is set."""
    values = series()
    batch_ms(values[:4])  # warm-up
    ours = batch_ms(values)
    yield f"whole series, n = 500: {np.median(ours):.2f} ms (fastest {ours.min():.2f})"
    update, late_update = update_ms(values, 500), update_ms(values, 20_000)
    yield f"one more point: {update:.3f} ms after 500 points, {late_update:.3f} ms after 20,000"
    python = os.environ.get("OTAVA_PYTHON")
    if not python:
        return
    otava = otava_ms(values, python)
    yield f"apache-otava, the same series: {np.median(otava):.2f} ms (fastest {otava.min():.2f})"
    batch_speedup = np.median(otava) / np.median(ours)
    yield f"faster: whole series {batch_speedup:.1f} times, fastest against fastest "
    yield (
        f"        {otava.min() / ours.min():.1f} times; one more point "
        f"{np.median(otava) / update:.0f} times"
    )
