"""Histories that other projects publish, read by this site's importers into plain series."""

import json
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from dashboard.results.core.series_points import SeriesPoint
from dashboard.results.formats import NO_HINTS, ParsedFile, asv
from dashboard.results.formats.reading import parse_file

Floats = NDArray[np.float64]
START = datetime(2000, 1, 1, tzinfo=UTC)
_Key = tuple[str, str, str, str]  # machine, config, benchmark, metric


@dataclass(frozen=True, slots=True)
class History:
    """One series: a value for each build, in the order in which the builds were first measured."""

    name: str
    metric: str
    at: list[datetime]
    values: Floats

    def readings(self, values: Floats | None = None) -> list[SeriesPoint]:
        """As detection reads it, an hour apart: commits may have one time. values: in place of its
        own.
        """
        readings = []
        numbers = self.values if values is None else values
        for place, value in enumerate(numbers.tolist()):
            at = START + timedelta(hours=place)
            readings.append(
                SeriesPoint(at, str(place), place, None, 1, "pass", value, low=None, high=None)
            )
        return readings


def histories(path: Path, *, least: int, one_in: int = 1, newest: int = 0) -> list[History]:
    """The series of a data.js, or of a folder with the results of asv, by name.

    least: those with fewer points are left out. one_in: only such a share of the benchmarks, chosen
    by a checksum of their names. newest: only so many points of each; 0: all.
    """
    values: dict[_Key, dict[str, list[tuple[datetime, float]]]] = defaultdict(dict)
    for file in _files(path):
        for case in file.cases:
            if zlib.crc32(case.model.encode()) % one_in:
                continue
            for metric, amount in case.metrics.items():
                key = case.machine, case.config, case.model, metric
                values[key].setdefault(case.build, []).append((case.at, amount.value))
    series = []
    for (*name, metric), builds in sorted(values.items()):
        if len(builds) >= least:
            series.append(_history(" ".join(name), metric, builds, newest))
    return series


def _history(
    name: str, metric: str, builds: dict[str, list[tuple[datetime, float]]], newest: int
) -> History:
    points = []
    for repeats in builds.values():
        first = min(at for at, _ in repeats)
        points.append((first, median(value for _, value in repeats)))
    points = sorted(points)[-newest:]
    return History(name, metric, [at for at, _ in points], np.array([value for _, value in points]))


def _files(path: Path) -> Iterator[ParsedFile]:
    if path.is_file():
        yield parse_file(path.name, path.read_bytes(), NO_HINTS)
        return
    for file in sorted(path.rglob("*.json")):
        value = json.loads(file.read_bytes())
        if asv.matches(value):
            yield asv.read(file.name, value, NO_HINTS)
